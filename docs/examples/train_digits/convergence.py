#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that sparse reduction trains as well as dense reduction.

Trains in every mode with every seed and the default hyperparameters of train_digits, and compares the
means of the final test accuracies. The accuracy is that of the mean of all ranks' models, which is the
common model except in the gossip modes; "own" is the accuracy of the ranks' own models. Fails if a
mode differs from dense by more than 1.0 percentage points, if dense does not learn, or if topk and
oktopk, which are defined to give the same bits, end with different parameters.
"""

import argparse
import json
import statistics
import sys

from runs import MODES, train

TOLERANCE = 1.0  # percentage points
DENSE_LEARNS = 95.0  # percent; the comparison is meaningless below
NODES = {"SPARSECOLL_RANKS_PER_NODE": "2"}  # for the mode sharded


def train_all(options):
    """Trains, and returns mode -> the last epoch of each seed."""
    last = {mode: [] for mode in MODES}
    for seed in range(1, options.seeds + 1):
        for mode in MODES:
            arguments = ["--mode", mode, "--seed", seed, "--density", options.density]
            epochs = train(options.program, options.ranks, arguments, options.launcher, timeout=300,
                           environment=NODES)
            last[mode].append(epochs[-1])
            if options.json:
                with open(options.json, "a", encoding="utf-8") as file:
                    file.writelines(json.dumps(epoch) + "\n" for epoch in epochs)
    return last


def read_all(file):
    """Reads the same from a file of --json."""
    last = {mode: {} for mode in MODES}
    with open(file, encoding="utf-8") as lines:
        for epoch in map(json.loads, lines):
            last[epoch["mode"]][epoch["seed"]] = epoch
    if not all(last.values()):
        raise RuntimeError(f"{file}: no rows of {[mode for mode in MODES if not last[mode]]}")
    return {mode: [seeds[seed] for seed in sorted(seeds)] for mode, seeds in last.items()}


def print_table(last):
    """Prints a row per mode. Returns dense's mean accuracy, and mode -> difference to it, in percent."""
    print(f"{'mode':<14}{'accuracy %':>11}{'min':>8}{'max':>8}{'own %':>8}{'loss':>10}"
          f"{'sent B/rank':>14}{'to dense':>10}")
    dense, differences = 0.0, {}
    for mode in MODES:
        accuracies = [100 * epoch["accuracy"] for epoch in last[mode]]
        mean = statistics.mean(accuracies)
        if mode == "dense":
            dense = mean
        differences[mode] = mean - dense
        own = 100 * statistics.mean(epoch["own_accuracy"] for epoch in last[mode])
        loss = statistics.mean(epoch["loss"] for epoch in last[mode])
        sent = statistics.mean(epoch["bytes_sent"] for epoch in last[mode])
        print(f"{mode:<14}{mean:>11.2f}{min(accuracies):>8.2f}{max(accuracies):>8.2f}{own:>8.2f}"
              f"{loss:>10.4f}{sent:>14.0f}{differences[mode]:>+10.2f}")
    return dense, differences


def faults_in(last, dense, differences):
    if dense < DENSE_LEARNS:
        yield f"dense reaches {dense:.2f}%, less than {DENSE_LEARNS}%"
    for mode, difference in differences.items():
        if abs(difference) > TOLERANCE:
            yield f"{mode} is {difference:+.2f} points away from dense, more than {TOLERANCE}"
    for topk, oktopk in zip(last["topk"], last["oktopk"]):
        if topk["parameters"] != oktopk["parameters"]:
            yield f"seed {topk['seed']}: topk and oktopk end with different parameters"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--program", help="train_digits")
    what.add_argument("--read", help="do not train: check the rows in this file of --json")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds: 1, 2, ...")
    parser.add_argument("--density", type=float, default=0.01)
    parser.add_argument("--launcher", default="", help="mpirun up to the number of ranks")
    parser.add_argument("--json", help="append every epoch to this file")
    options = parser.parse_args()
    try:
        last = read_all(options.read) if options.read else train_all(options)
    except (OSError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    dense, differences = print_table(last)
    faults = list(faults_in(last, dense, differences))
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
