# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Losses against time, from the rows of ddp_training.py. Needs no matplotlib.

A row with many steps has the losses of its way; a row of a network has the times of steps there. Losses
do not depend on the network, so that both need not come from the same run."""

import dataclasses
import itertools
import statistics

from plots import records

WAYS = ("dense", "fp16", "bf16", "powersgd", "sparse", "sparse-bf16")


@dataclasses.dataclass
class Curve:
    """The losses of a way against seconds on a network."""

    network: str
    way: str
    points: "list[tuple[int, float, float]]"  # steps, seconds, loss
    step_ms: float  # the median, after the first steps
    computing_ms: float
    link_bytes: float
    timed_steps: int
    same_losses: int  # how many losses of the timed run have the same bits as those of another

    def reaches(self, loss):
        """Returns steps and seconds of the first point with at most this loss, or None."""
        return next(((step, seconds) for step, seconds, found in self.points if found <= loss), None)


def compressing_steps(row):
    """Returns the times of the steps after those in which a way sends more than later, and of one more."""
    times = row["step_ms"]
    return times[row["dense_steps"] + row["warmup"] + 1:] or times[-1:]


def compare(timed, other):
    """Returns how many losses two runs of a way have in common. They must have the same bits."""
    if any(timed[key] != other[key] for key in ("dense_steps", "warmup", "rate", "text", "seed")):
        return 0
    ours, theirs = dict(map(tuple, timed["losses"])), dict(map(tuple, other["losses"]))
    common = sorted(ours.keys() & theirs.keys() - {0})
    for step in common:
        if ours[step] != theirs[step]:
            raise SystemExit(f"{timed['way']}: a loss of {ours[step]} after {step} steps on {timed['network']}, "
                             f"and of {theirs[step]} {'on ' + other['network'] if other['network'] else 'elsewhere'}")
    return len(common)


def ends_of(timed, longest, dense):
    """Returns the time at the end of each step of `longest`: as it was timed on the network, and from there
    on by the median."""
    own = statistics.median(compressing_steps(timed))
    if timed["dense_steps"] == longest["dense_steps"]:
        times = timed["step_ms"][: len(longest["step_ms"])]
    else:  # a run for times does not begin with as many dense steps
        times = [statistics.median(compressing_steps(dense))] * longest["dense_steps"]
    times = times + [own] * (len(longest["step_ms"]) - len(times))
    return [0.0, *(total / 1000 for total in itertools.accumulate(times))]


def curve_of(timed, runs, dense):
    """Returns the curve of a way on a network: the losses are those of the longest of `runs`, those of the
    way on any network; the times are those of `timed`, there."""
    longest = max(runs, key=lambda row: (len(row["step_ms"]), row is timed))
    ends, own = ends_of(timed, longest, dense), statistics.median(compressing_steps(timed))
    points = [(step, ends[step], loss) for step, loss in longest["losses"]]
    return Curve(timed["network"], timed["way"], points, own, statistics.median(timed["compute_ms"]),
                 timed["link_bytes"], len(timed["step_ms"]),
                 max([compare(timed, other) for other in runs if other is not timed], default=0))


def curves(rows):
    """Returns the curves by network, the slowest first, and by the order of WAYS."""
    rows = [row for row in records.ddp_training(rows) if "error" not in row]
    found = []
    for (network,), mine in records.groups([row for row in rows if row["network"]], "network"):
        by_way = {way: max(records.where(mine, way=way), key=lambda row: len(row["step_ms"]), default=None)
                  for way in WAYS}
        for way, timed in by_way.items():
            if timed is None:
                continue
            found.append(curve_of(timed, records.where(rows, way=way), by_way["dense"]))
    order = {network: -max(c.step_ms for c in found if c.network == network) for network in {c.network for c in found}}
    return sorted(found, key=lambda c: (order[c.network], WAYS.index(c.way)))


def goal_of(found):
    """Returns the loss that dense training has at its end."""
    return next(curve.points[-1][2] for curve in found if curve.way == "dense")
