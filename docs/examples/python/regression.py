#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Logistic regression on several ranks, with dense and with sparse sums of gradients.

    python3 regression.py              ranks are threads of this process
    mpirun -n 4 python3 regression.py  ranks are processes; needs mpi4py

Each rank has samples of its own and computes the gradient of the loss over them. The ranks need the
mean of their gradients. `dense` sums all values. `sparse` sums the 1% of largest magnitude; what a
rank does not send stays in its residual and is added to its next gradient.
"""

import argparse
import os
import sys
import threading

import numpy as np

import sparsecoll as sc

FEATURES = 20000
SAMPLES = 500  # of each rank
ACTIVE = 40  # features that a sample has
STEPS = 60
RATE = 0.3


def samples_of(rank):
    """Returns samples, as the numbers of their features, and their labels, 0 or 1."""
    truth = np.random.default_rng(0).normal(size=FEATURES)  # the same on all ranks
    own = np.random.default_rng(1 + rank)
    # Some features are frequent and most are rare, like the words of a text.
    features = (FEATURES * own.random((SAMPLES, ACTIVE)) ** 4).astype(np.int64)
    labels = truth[features].sum(axis=1) > 0
    return features, labels.astype(np.float32)


def loss_and_gradient(weights, features, labels):
    """Returns the mean logistic loss of these samples and its gradient."""
    scores = weights[features].sum(axis=1)
    chances = 1 / (1 + np.exp(-np.clip(scores, -30, 30)))
    loss = -np.mean(np.log(np.where(labels == 1, chances, 1 - chances) + 1e-12))
    errors = (chances - labels) / len(labels)
    gradient = np.zeros(FEATURES, np.float32)
    np.add.at(gradient, features, errors[:, None].astype(np.float32))
    return loss, gradient


def train(comm, mode):
    """Trains on this rank. Returns this rank's loss, and the bytes that it sent in each step."""
    features, labels = samples_of(comm.rank)
    weights = np.zeros(FEATURES, np.float32)
    mean = np.empty_like(weights)
    residual = sc.Residual(comm, weights)
    k = FEATURES if mode == "dense" else FEATURES // 100
    before = comm.stats(total=True).bytes_sent
    for _ in range(STEPS):
        _, gradient = loss_and_gradient(weights, features, labels)
        comm.sparse_allreduce(gradient, mean, k=k, op="avg", residual=residual)
        weights -= RATE * mean  # the same bits on every rank
    loss, _ = loss_and_gradient(weights, features, labels)
    residual.destroy()
    return loss, (comm.stats(total=True).bytes_sent - before) / STEPS


def run(comm):
    """Trains in both modes; rank 0 prints the results. Returns whether the sparse mode is good."""
    results = {}
    for mode in ("dense", "sparse"):
        loss, sent = train(comm, mode)
        total = np.array([loss / comm.size], np.float64)
        comm.sparse_allreduce(total, total, k=1)  # the mean loss
        results[mode] = total[0], sent
        if comm.rank == 0:
            print(f"{mode:>6}: loss {total[0]:.4f}, {sent / 1000:.1f} kB sent by rank 0 in a step")
    (dense_loss, dense_bytes), (sparse_loss, sparse_bytes) = results.values()
    return sparse_loss < dense_loss + 0.05 and sparse_bytes < dense_bytes / 5


def run_threads(nranks):
    """Runs ranks as threads. Returns whether all of them succeeded."""
    comms = sc.Communicator.init_all(nranks)
    good = [False] * nranks

    def body(rank):
        with comms[rank] as comm:
            good[rank] = run(comm)

    threads = [threading.Thread(target=body, args=(rank,)) for rank in range(nranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return all(good)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=4, help="number of threads, without mpirun")
    options = parser.parse_args()
    try:
        if "OMPI_COMM_WORLD_SIZE" in os.environ or "PMI_SIZE" in os.environ:
            with sc.Communicator.init_mpi() as comm:
                good = run(comm)
        else:
            good = run_threads(options.ranks)
    except sc.Error as error:
        sys.exit(f"rank {error.rank}: {error}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
