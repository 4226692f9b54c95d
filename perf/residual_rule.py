#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Counts what the published residual rule of gtopkAllreduce loses, and the conserving one keeps.

In each step every rank passes random values, of which a part is the same on all ranks. After it the script compares
the sum of all values with what was delivered so far and what is in the residuals. Writes a line of JSON for each rule.
The ranks are threads. Needs numpy, and the library in SPARSECOLL_LIBRARY. Example:

  SPARSECOLL_LIBRARY=build/release/src/libsparsecoll.so perf/residual_rule.py > rows.json
  perf/plot.py rule rows.json
"""

import json
import pathlib
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "perf"), str(ROOT / "src/python")]

from plots import options  # noqa: E402

RULES = ("conserving", "paper")


def arguments():
    parser = options.Parser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--count", type=int, default=10000, help="values of each rank")
    parser.add_argument("--density", type=float, default=0.01)
    parser.add_argument("--common", type=float, default=0.5, help="share of the variance that all ranks have in common")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def run(rule, given):
    """Returns for each step the share of the sum of all values that is lost."""
    import numpy as np
    import sparsecoll as sc

    def values(rank, step):
        own = np.random.default_rng((given.seed, step, 1 + rank)).standard_normal(given.count)
        common = np.random.default_rng((given.seed, step, 0)).standard_normal(given.count)
        return (np.sqrt(given.common) * common + np.sqrt(1 - given.common) * own).astype(np.float64)

    k = max(1, round(given.density * given.count))
    kept = np.zeros((given.ranks, given.steps, given.count))  # residuals; rank 0 adds what was delivered

    def rank_of_all(comm):
        residual, delivered = sc.Residual(comm, np.zeros(given.count)), np.zeros(given.count)
        for step in range(given.steps):
            delivered += comm.gtopk_allreduce(values(comm.rank, step), k=k, residual=residual)
            kept[comm.rank, step] = residual.read() + (delivered if comm.rank == 0 else 0)
        comm.destroy()

    comms = sc.Communicator.init_all(given.ranks, config=sc.Config(residual_rule=rule))
    threads = [threading.Thread(target=rank_of_all, args=(comm,)) for comm in comms]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wanted = np.zeros(given.count)
    for step in range(given.steps):
        wanted += sum(values(rank, step) for rank in range(given.ranks))
        yield float(np.abs(wanted - kept[:, step].sum(0)).sum() / np.abs(wanted).sum())


def main():
    given = arguments()
    for rule in RULES:
        lost = [float(f"{share:.4g}") for share in run(rule, given)]  # by step
        print(json.dumps({"program": "residual_rule", "rule": rule, **vars(given), "lost": lost}))


if __name__ == "__main__":
    main()
