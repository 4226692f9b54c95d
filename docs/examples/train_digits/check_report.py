#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the options for the model, the evaluations and the end of training, and the rows.

Fails unless:
- the network has the parameters of --hidden;
- --every adds rows and changes no other row;
- --seconds ends all ranks after the same step, at the first evaluation after that time, in every mode;
- the parts of a row's time add up.
"""

import argparse
import sys

from runs import MODES, RunFailed, check, exit_status, train

RANKS = 3
BATCH = 100
STEPS = 3823 // (RANKS * BATCH)  # steps of an epoch
HIDDEN = (40, 30)
COUNT = 64 * 40 + 40 + 40 * 30 + 30 + 30 * 10 + 10
KEYS = {
    "program", "version", "mode", "transport", "memory", "ranks", "hidden", "count", "density",
    "seed", "batch", "learning_rate", "momentum", "warm_up", "images", "epoch", "step", "loss",
    "accuracy", "own_accuracy", "bytes_sent", "elapsed", "seconds", "compute_seconds",
    "compute_cpu_seconds", "call_seconds", "select_seconds", "wait_seconds", "parameters",
}
SAME = ("epoch", "step", "accuracy", "own_accuracy", "parameters")
ROUNDING = 1e-6


def run(options, *arguments):
    fixed = ("--hidden", ",".join(map(str, HIDDEN)), "--batch", BATCH)
    return train(options.program, RANKS, [*fixed, *arguments], options.launcher, timeout=60)


def check_times(row, mode):
    """Checks the times of a row: means over ranks, except `seconds`, which is the slowest rank's."""
    calls, compute = row["call_seconds"], row["compute_seconds"]
    check(calls > 0 and compute > 0, f"{mode}: no time in calls or outside of them: {row}")
    check(calls + compute <= row["seconds"] + ROUNDING, f"{mode}: parts are more than all: {row}")
    check(0 < row["compute_cpu_seconds"] <= compute * 1.1 + 0.01,
          f"{mode}: computing takes more of a core than there was: {row}")
    check(row["select_seconds"] + row["wait_seconds"] <= calls + ROUNDING,
          f"{mode}: more within calls than calls took: {row}")
    # The statistics cover collective calls only, and dgc selects by a local call.
    check(row["select_seconds"] > 0 or row["density"] == 1 or mode == "dgc",
          f"{mode}: no time for selection: {row}")


def check_rows(options, mode):
    """Checks that more evaluations do not change the training."""
    epochs = run(options, "--mode", mode, "--epochs", 2, "--network", "none")
    often = run(options, "--mode", mode, "--epochs", 2, "--every", 5)
    check(all(KEYS | {"network"} == set(row) for row in epochs), f"{mode}: other keys: {epochs[0]}")
    check(all(KEYS == set(row) for row in often), f"{mode}: other keys: {often[0]}")
    check(all(row["network"] == "none" for row in epochs), f"{mode}: another network")
    check(all((row["count"], tuple(row["hidden"])) == (COUNT, HIDDEN) for row in often),
          f"{mode}: another model: {often[0]}")
    steps = sorted({*range(5, 2 * STEPS + 1, 5), STEPS, 2 * STEPS})
    check([row["step"] for row in often] == steps, f"{mode}: rows of other steps")
    ends = [row for row in often if row["step"] % STEPS == 0]
    check([[row[key] for key in SAME] for row in epochs] == [[row[key] for key in SAME] for row in ends],
          f"{mode}: --every changes the training")
    check(all(abs(row["epoch"] * STEPS - row["step"]) < ROUNDING for row in often), f"{mode}: epochs")
    for rows in (epochs, often):
        elapsed = 0
        for row in rows:
            check_times(row, mode)
            elapsed += row["seconds"]
            check(abs(row["elapsed"] - elapsed) < ROUNDING, f"{mode}: not the time of all rows: {row}")


def check_seconds(options, mode):
    """Checks --seconds. --check fails if ranks stop after different steps, because parameters differ."""
    limit, every = 0.5, 5
    rows = run(options, "--mode", mode, "--epochs", 100000, "--seconds", limit, "--every", every)
    check(len({row["step"] for row in rows}) == len(rows), f"{mode}: a step is reported twice")
    check(rows[-1]["elapsed"] >= limit, f"{mode}: over after {rows[-1]['elapsed']} s of {limit}")
    check(all(row["elapsed"] < limit for row in rows[:-1]), f"{mode}: goes on after {limit} s")


def check_refusals(options):
    for arguments, words in (
        (("--hidden", "40,0"), "--hidden"), (("--hidden", "wide"), "--hidden"),
        (("--seconds", "0"), "--seconds"), (("--every", "0"), "--every"),
    ):
        try:
            train(options.program, 1, arguments)
        except RunFailed as error:
            check(words in str(error), f"{arguments}: {error}")
        else:
            raise RuntimeError(f"{arguments} are taken")


def check_reports(options):
    for mode in ("dense", "oktopk", "groups", "dgc", "sgp", "gossip"):
        check_rows(options, mode)
    for mode in MODES:
        check_seconds(options, mode)
    check_refusals(options)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="train_digits")
    parser.add_argument("--launcher", default="", help="mpirun up to the number of ranks")
    options = parser.parse_args()
    return exit_status(lambda: check_reports(options))


if __name__ == "__main__":
    sys.exit(main())
