#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Prints the time to the loss that dense training reaches, from rows of ddp_training.py.

Example:
  perf/torch/ddp_report.py build/perf/ddp/*.json"""

import pathlib
import sys

# Makes the modules of perf/ importable from any current folder.
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from plots import ddp_times, options, records  # noqa: E402

COLUMNS = (("network", "", 8), ("way", "", 11), ("step", "(ms)", 7), ("compute", "(%)", 7), ("link", "(MB/step)", 9),
           ("steps", "", 5), ("time", "(s)", 7), ("faster", "(x dense)", 9), ("", "(x fp16)", 8),
           ("", "(x powersgd)", 12), ("loss", "(nats)", 7), ("after", "(s)", 7), ("timed", "(steps)", 7),
           ("same", "(losses)", 8))


def line(cells):
    return "".join(f" {cell:>{column[2]}}" for cell, column in zip(cells, COLUMNS))


def number(value):
    return "-" if value is None else f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f}"


def cells_of(curve, goal, others):
    """Returns the cells of a row. `others` are the curves of the same network by way."""
    reached = curve.reaches(goal)
    ratios = []
    for name in ("dense", "fp16", "powersgd"):
        other = others[name].reaches(goal) if name in others else None
        ratios.append(other[1] / reached[1] if reached and other else None)
    _, seconds, loss = curve.points[-1]
    return [curve.network, curve.way, number(curve.step_ms), number(100 * curve.computing_ms / curve.step_ms),
            "-" if curve.link_bytes is None else number(curve.link_bytes / 1e6),
            str(reached[0]) if reached else "-", number(reached[1] if reached else None), *map(number, ratios),
            f"{loss:.4f}", number(seconds), str(curve.timed_steps), str(curve.same_losses or "-")]


def main():
    parser = options.Parser(description=__doc__)
    parser.add_argument("files", nargs="+", metavar="JSON")
    rows = records.load(parser.parse_args().files)
    for row in records.ddp_training(rows):
        if "error" in row:
            print(f"# {row['way']} {row['network']}: {row['error']}")
    curves = ddp_times.curves(rows)
    if not any(curve.way == "dense" for curve in curves):
        sys.exit("ddp_report.py: no row of dense on a network")
    goal = ddp_times.goal_of(curves)
    print(f"# steps, time: to a loss of {goal:.4f}, that of dense at its end, or -; loss, after: at the end")
    print("# step: the median of the steps timed on the network, after those that send more; compute: the share of "
          "a step\n# without exchange; same: losses with the same bits on another network")
    print("#" + line([column[0] for column in COLUMNS])[1:])
    print("#" + line([column[1] for column in COLUMNS])[1:])
    for curve in curves:
        others = {other.way: other for other in curves if other.network == curve.network}
        print(line(cells_of(curve, goal, others)))


if __name__ == "__main__":
    main()
