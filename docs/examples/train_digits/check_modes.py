#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Trains two epochs of each mode on three ranks: on threads and, with --launcher, under mpirun.

Fails unless:
- all ranks have the same bits after each epoch;
- both transports give the same parameters, except for osgp, which uses messages in the order of their
  arrival;
- topk and oktopk, which are defined by the same sums, give the same parameters, and so do groups of
  any size;
- the loss falls, and the sparse modes send less than half of the bytes of dense;
- warm-up sends more at first;
- the dumped gradients are complete.
"""

import argparse
import array
import math
import pathlib
import sys
import tempfile

from runs import MODES, check, exit_status, train

RANKS = 3
WHOLE = ("dense", "sgp", "osgp")  # modes that send all entries
HELD_OUT = 958  # the last quarter of the 3,823 training images
PARAMETERS = 64 * 512 + 512 + 512 * 160 + 160 + 160 * 10 + 10


def check_gradients(prefix, mode):
    gradients = []
    for rank in range(RANKS):
        values = array.array("f")
        values.frombytes(pathlib.Path(f"{prefix}.{rank}.f32").read_bytes())
        check(len(values) == PARAMETERS, f"{mode}: rank {rank} dumped {len(values)} values")
        check(all(map(math.isfinite, values)), f"{mode}: rank {rank} dumped a value not finite")
        check(any(values), f"{mode}: rank {rank} dumped zeros only")
        gradients.append(values)
    check(gradients[0] != gradients[1], f"{mode}: ranks 0 and 1 dumped the same gradient")


def train_mode(options, mode, launcher):
    with tempfile.TemporaryDirectory() as folder:
        prefix = pathlib.Path(folder) / "gradient"
        arguments = ["--mode", mode, "--epochs", 2, "--dump-gradient", prefix, "--warm-up", 0]
        epochs = train(options.program, RANKS, arguments, launcher, timeout=100)
        check_gradients(prefix, mode)
    check([e["epoch"] for e in epochs] == [1, 2], f"{mode}: not two epochs in the report")
    check(epochs[1]["loss"] < epochs[0]["loss"], f"{mode}: the loss does not fall")
    check(all(e["ranks"] == RANKS for e in epochs), f"{mode}: not {RANKS} ranks")
    return epochs[-1]


def check_groups(options, parameters):
    """Checks that results do not depend on the groups: single tensors, and a few in a group."""
    for fusion in (0, "400K"):
        arguments = ["--mode", "groups", "--epochs", 2, "--fusion", fusion]
        last = train(options.program, RANKS, arguments, timeout=100)[-1]
        check(last["parameters"] == parameters, f"--fusion {fusion} changes the parameters")


def check_warm_up(options):
    """Checks that an epoch of 25% sends more than ten times the bytes of an epoch of 1%."""
    arguments = ["--mode", "dgc", "--epochs", 2, "--warm-up", 1]
    first, second = train(options.program, RANKS, arguments, timeout=100)
    later = second["bytes_sent"] - first["bytes_sent"]
    check(first["bytes_sent"] > 10 * later, "warm-up does not send more in the first epoch")


def check_held_out(options):
    arguments = ["--mode", "dense", "--epochs", 1, "--validate"]
    hits = train(options.program, RANKS, arguments, timeout=100)[0]["accuracy"] * HELD_OUT
    check(abs(hits - round(hits)) < 1e-6, f"the model was not evaluated on {HELD_OUT} images")


def check_modes(options):
    last = {}
    for mode in MODES:
        last[mode] = train_mode(options, mode, options.launcher)
        print(mode, last[mode], flush=True)
        if options.launcher:
            threads = train_mode(options, mode, "")
            check(mode == "osgp" or threads["parameters"] == last[mode]["parameters"],
                  f"{mode}: other parameters over MPI than over threads")
    check(last["topk"]["parameters"] == last["oktopk"]["parameters"],
          "topk and oktopk end with different parameters")
    for mode in (mode for mode in MODES if mode not in WHOLE):
        # Within a node, sharded sends dense shards: half of what dense sends, and entries.
        share = 0.55 if mode == "sharded" else 0.5
        check(last[mode]["bytes_sent"] < share * last["dense"]["bytes_sent"],
              f"{mode} sends more than {share} of what dense sends")
    check_groups(options, last["groups"]["parameters"])
    check_warm_up(options)
    check_held_out(options)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="train_digits")
    parser.add_argument("--launcher", default="", help="mpirun up to the number of ranks")
    options = parser.parse_args()
    return exit_status(lambda: check_modes(options))


if __name__ == "__main__":
    sys.exit(main())
