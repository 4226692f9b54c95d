#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Trains with vectors on the host and with vectors on a GPU.

Fails unless both come to the same parameters, bit for bit, with the same loss and the same bytes
sent. How many bytes groups send depends on which of their messages are ready together, and osgp
takes messages as they come: it only has to go on. What is not listed below goes to the training.
Ends with 77 where there is no GPU.
"""

import argparse
import sys

from runs import MODES, RunFailed, check, exit_status, train

SKIPPED = 77
NO_DEVICE = 3  # exit status of train_digits
SAME = ("loss", "accuracy", "own_accuracy", "bytes_sent", "parameters")
# Not Auto, which sends times that it measures, of any length.
ENVIRONMENT = {"dgc": {"SPARSECOLL_ALGO": "oktopk"}}
OPEN = {"groups": ("bytes_sent",), "osgp": SAME}  # what need not be the same


def compare(options, mode, arguments):
    arguments = ["--mode", mode, *arguments]
    device = train(options.device, options.ranks, [*arguments, "--memory", "device"], timeout=300,
                   environment=ENVIRONMENT.get(mode))
    host = train(options.program, options.ranks, arguments, environment=ENVIRONMENT.get(mode))
    check(host and len(host) == len(device), f"{mode}: not the same epochs")
    for ours, theirs in zip(host, device):
        check((ours["memory"], theirs["memory"]) == ("host", "device"),
              f"{mode}: not trained where it should be")
        differ = [key for key in SAME if ours[key] != theirs[key] and key not in OPEN.get(mode, ())]
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
    parser.add_argument("--device", required=True, help="the one that is given --memory device")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--ranks", type=int, default=3)
    options, arguments = parser.parse_known_args()
    return exit_status(lambda: compare_all(options, arguments))


if __name__ == "__main__":
    sys.exit(main())
