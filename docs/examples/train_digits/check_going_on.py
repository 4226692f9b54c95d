#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Trains on four processes of mpirun, of which one is killed in epoch 2, and without that.

The test fails unless the three other processes reach the last epoch with equal parameters, bit for bit, and
with an accuracy within one point of that of the run without the kill.
"""

import argparse
import sys

from runs import check, exit_status, train

RANKS = 4
KILLED = 2
EPOCHS = 20
MOST_POINTS = 1.0


def run(options):
    arguments = ["--epochs", EPOCHS, "--go-on"]
    whole = train(options.program, RANKS, arguments, options.launcher, timeout=150)
    failed = train(options.program, RANKS, [*arguments, "--kill", KILLED], options.launcher, timeout=200,
                   any_status=True)
    for epochs, ranks in ((whole, [RANKS] * EPOCHS), (failed, [RANKS] + [RANKS - 1] * (EPOCHS - 1))):
        check([row["epoch"] for row in epochs] == list(range(1, EPOCHS + 1)), "not all epochs in the report")
        check([row["ranks"] for row in epochs] == ranks, f"not these ranks: {ranks}")
    points = 100 * (failed[-1]["accuracy"] - whole[-1]["accuracy"])
    print(f"{100 * whole[-1]['accuracy']:.2f}% with {RANKS} ranks, {points:+.2f} points with a kill")
    check(abs(points) <= MOST_POINTS, f"more than {MOST_POINTS} points")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--launcher", required=True, help="mpirun, which lets ranks live, up to the number")
    options = parser.parse_args()
    return exit_status(lambda: run(options))


if __name__ == "__main__":
    sys.exit(main())
