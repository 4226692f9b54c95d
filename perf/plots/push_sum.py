# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of push-sum: distance from the mean against steps and time, and slow ranks."""

from itertools import accumulate

from plots import records, style
from plots.style import plt

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000")
NAMES = {"dense": "sparseAllreduce, dense", "mpi-dense": "MPI_Allreduce"}


def delay_text(delay):
    return "never waits" if str(delay) == "-1" else f"maxDelay {delay}"


def consensus(rows):
    """Draws the distance of the estimates from the mean, a line for each configuration."""
    rows = records.where(rows, experiment="consensus")
    for (ranks, count, datatype), group in records.groups(rows, "ranks", "count", "datatype"):
        figure, axes = plt.subplots(1, 2, figsize=(11, 4.0), sharey=True)
        for place, row in enumerate(group):
            label = f"{row['graph']}, {delay_text(row['max_delay'])}"
            if row["k"] > 0:
                label += f", {style.percent_text(row['density'])}"
            line = {
                "label": label,
                "color": COLOURS[place % len(COLOURS)],
                "linestyle": "--" if row["k"] > 0 else "-",
            }
            # Errors below the rounding error are drawn at the rounding error.
            errors = [1.0] + [max(error, 1e-17) for error in row["errors"]]
            axes[0].plot(range(len(errors)), errors, **line)
            axes[1].plot([0] + [1e3 * t for t in accumulate(row["seconds"])], errors, **line)
        axes[0].set_xlabel("step")
        axes[1].set_xlabel("time in steps (ms)")
        axes[0].set_ylabel("distance from the mean")
        style.log_axis(axes[0].yaxis, lambda value: f"{value:.0e}")
        style.legend_right(axes[1])
        figure.suptitle(
            f"pushSumStep, {style.size_text(group[0]['bytes'])} of {datatype} per rank, "
            + style.machine_text(group),
            fontsize=11,
        )
        yield f"push_sum_error_{ranks}_ranks_{count}_{datatype}", figure


def slow_rank(rows):
    """Draws the mean time of a step over the mean work of a rank, as bars."""
    rows = records.where(rows, experiment="slow rank")
    for (ranks, count), group in records.groups(rows, "ranks", "count"):
        figure, axis = plt.subplots(figsize=(8, 3.6))
        labels = [
            NAMES.get(row["method"], f"push-sum, {delay_text(row['max_delay'])}") for row in group
        ]
        bars = axis.barh(labels, [row["times_own"] for row in group], color=COLOURS[0])
        axis.bar_label(bars, [f"{row['times_own']:.2f}" for row in group], padding=2)
        axis.axvline(1, color="black", linestyle="--", linewidth=1.2)
        axis.invert_yaxis()
        axis.grid(axis="y", visible=False)
        axis.set_xlabel("mean step over a rank's own mean work (1 = nobody waits)")
        row = group[0]
        axis.set_title(
            f"one random rank {row['slow_factor']:g}x slower in each step, "
            f"work {row['work_ms']:g} ms\n" + style.machine_text(group)
        )
        yield f"push_sum_slow_{ranks}_ranks_{count}", figure
