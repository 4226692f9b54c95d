# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Ranks that are processes of MPI. Started by mpirun."""

import sys

import numpy as np
from mpi4py import MPI

import sparsecoll as sc
from support import allreduce_oracle, values_of

N = 500


def check(comm):
    """Returns whether an allreduce and an all-to-all on this rank are right."""
    total, _ = allreduce_oracle([values_of(r, N) for r in range(comm.size)], 20)
    right = np.array_equal(comm.sparse_allreduce(values_of(comm.rank, N), k=20), total)
    ones = sc.SparseVector(comm.size, np.arange(comm.size), np.full(comm.size, float(comm.rank)))
    got, counts = comm.sparse_alltoall(ones)
    return right and got.values.tolist() == list(range(comm.size)) and list(counts) == [1] * comm.size


def main():
    world = MPI.COMM_WORLD
    right = True
    for init in (None, world, world.py2f()):
        with sc.Communicator.init_mpi(init) as comm:
            right = right and comm.rank == world.rank and comm.size == world.size and check(comm)
    right = world.allreduce(right, MPI.LAND)
    if world.rank == 0:
        print("right" if right else "wrong")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
