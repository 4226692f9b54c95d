#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Trains with vectors on the host and with vectors on a GPU.

Fails unless both give the same parameters, bit for bit, and the same loss, and the GPU sends no more
bytes: ranks that share memory send some of their messages with plain indices, those with vectors on a
GPU never do. There are two exceptions: the bytes that groups send depend on which messages are ready at
the same time, and osgp uses messages in the order of their arrival, so that it only has to finish.
Options that are not listed below are passed to the training. Exits with 77 if there is no GPU.
"""

import argparse
import sys

from runs import MODES, RunFailed, check, exit_status, train

SKIPPED = 77
NO_DEVICE = 3  # exit status of train_digits
SAME = ("loss", "accuracy", "own_accuracy", "parameters")
# Not Auto, whose messages contain measured times and vary in length.
ENVIRONMENT = {"dgc": {"SPARSECOLL_ALGO": "oktopk"}}
OPEN = {"groups": ("bytes_sent",), "osgp": (*SAME, "bytes_sent")}  # keys that may differ


def compare(options, mode, arguments):
    arguments = ["--mode", mode, *arguments]
    device = train(options.device, options.ranks, [*arguments, "--memory", "device"], timeout=300,
                   environment=ENVIRONMENT.get(mode))
    host = train(options.program, options.ranks, arguments, environment=ENVIRONMENT.get(mode))
    check(host and len(host) == len(device), f"{mode}: not the same epochs")
    for ours, theirs in zip(host, device):
        check((ours["memory"], theirs["memory"]) == ("host", "device"),
              f"{mode}: not trained where it should be")
        differ = [key for key in SAME if ours[key] != theirs[key]]
        if theirs["bytes_sent"] > ours["bytes_sent"]:
            differ.append("bytes_sent")
        differ = [key for key in differ if key not in OPEN.get(mode, ())]
        check(not differ, f"{mode}: other {', '.join(differ)}: {ours} on the host, {theirs}")
    print(mode, device[-1], flush=True)


def compare_all(options, arguments):
    try:
        for mode in options.modes.split(","):
            compare(options, mode, arguments)
    except RunFailed as error:
        if error.status != NO_DEVICE:
            raise
        print(error, file=sys.stderr)
        sys.exit(SKIPPED)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="train_digits")
    parser.add_argument("--device", required=True, help="train_digits to run with --memory device")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--ranks", type=int, default=3)
    options, arguments = parser.parse_known_args()
    return exit_status(lambda: compare_all(options, arguments))


if __name__ == "__main__":
    sys.exit(main())
