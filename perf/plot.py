#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Draws pictures from the JSON of the programs in perf/ and of the training example.

Needs matplotlib. Prints the names of the files that it writes. For example:

  mpirun -n 8 sparse_allreduce_perf -J rows.json
  perf/plot.py all rows.json --out pictures
"""

import pathlib
import sys

# Makes the modules in this file's folder importable from any current folder.
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

try:
    import matplotlib  # noqa: F401  (the modules need it)
except ImportError as problem:
    sys.exit(f"plot.py: {sys.executable} has no matplotlib ({problem}); another may, as /usr/bin/python3")

from plots import collective, ddp_training, options, push_sum, records, residual_rule, style, summary  # noqa: E402
from plots import topk, training, training_time, tuning  # noqa: E402

KINDS = {
    "size": ("time against size", lambda r: collective.time_against_size(records.collectives(r))),
    "density": (
        "time against density, at the largest size",
        lambda r: collective.time_against_density(records.collectives(r)),
    ),
    "volume": (
        "bytes sent against P",
        lambda r: collective.volume_against_ranks(records.collectives(r)),
    ),
    "ranks": ("time against P", lambda r: collective.time_against_ranks(records.collectives(r))),
    "speedup": ("speed-up over mpi-dense", lambda r: collective.speedup(records.collectives(r))),
    "consensus": (
        "push-sum's distance from the mean",
        lambda r: push_sum.consensus(records.push_sum(r)),
    ),
    "slow": ("what a slow rank costs", lambda r: push_sum.slow_rank(records.push_sum(r))),
    "topk": ("the local selection", lambda r: topk.ratios(records.topk(r))),
    "training": ("accuracy of the example", lambda r: training.accuracy(records.training(r))),
    "time": (
        "training on slow networks: accuracy against time, time of an epoch",
        lambda r: training_time.on_networks(records.training_on_networks(r)),
    ),
    "ddp": ("DDP's hooks on slow networks: loss against time", lambda r: ddp_training.loss_against_time(r)),
    "rule": ("what a residual rule loses", lambda r: residual_rule.lost(records.residual_rule(r))),
    "tune": ("what sparsecoll-tune predicts", lambda r: tuning.predictions(records.tuning(r))),
    "summary": ("the one for the README: times and training", summary.draw),
}


def arguments():
    kinds = "\n".join(f"  {name:9} {text}" for name, (text, _) in KINDS.items())
    parser = options.Parser(
        description=__doc__,
        epilog=f"kinds:\n{kinds}\n  all       all kinds that the records allow, except summary",
    )
    parser.add_argument("kind", choices=[*KINDS, "all"], metavar="KIND", help="see below")
    parser.add_argument("files", nargs="+", metavar="JSON", help="an array, an object, or an object per line")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."), help="folder")
    parser.add_argument("--format", choices=["png", "svg"], default="png")
    return parser.parse_args()


def main():
    given = arguments()
    rows = records.load(given.files)
    kinds = [name for name in KINDS if name != "summary"] if given.kind == "all" else [given.kind]
    given.out.mkdir(parents=True, exist_ok=True)
    drawn = 0
    for kind in kinds:
        for name, figure in KINDS[kind][1](rows):
            style.save(figure, given.out, name, given.format)
            drawn += 1
    if drawn == 0:
        sys.exit(f"plot.py: these records hold nothing to draw as {given.kind}")


if __name__ == "__main__":
    main()
