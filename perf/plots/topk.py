# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of the local selection: its time divided by the time of passes over the same memory."""

from plots import records, style
from plots.style import plt

PANELS = (
    (False, "read", "no feedback", "one read pass"),
    (True, "add", "with feedback", "r += g in place"),
)
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")


def ratios(rows):
    """Draws bars at the largest size: a cluster for each kind of data, a bar for each density."""
    for (threads, datatype), group in records.groups(rows, "ranks", "datatype"):
        group = records.where(group, bytes=max(row["bytes"] for row in group))
        kinds = sorted({row["input"] for row in group}, key=[r["input"] for r in group].index)
        densities = records.values(group, "density")
        figure, axes = plt.subplots(1, 2, figsize=(11, 4.0))
        for axis, (feedback, yardstick, name, unit) in zip(axes, PANELS):
            draw(axis, records.where(group, feedback=feedback), (kinds, densities, yardstick))
            axis.set_title(name)
            axis.set_ylabel(f"time over {unit} (minima)")
        style.legend_right(axes[1], title="density k/n")
        row = group[0]
        figure.suptitle(
            f"sparsecollTopk, {style.size_text(row['bytes'])} of {datatype} per thread, "
            f"{threads} thread{'s' if threads > 1 else ''}\n"
            f"{row['cores']} cores{style.processor_text(row)}; diamond: copy + std::nth_element",
            fontsize=11,
        )
        yield f"topk_{threads}_threads_{datatype}", figure


def draw(axis, rows, cluster):
    kinds, densities, yardstick = cluster
    width = 0.84 / len(densities)
    for place, density in enumerate(densities):
        mine = records.where(rows, density=density)
        at = [kinds.index(r["input"]) + (place - (len(densities) - 1) / 2) * width for r in mine]
        over = [r["time_min_us"] / r[f"{yardstick}_min_us"] for r in mine]
        other = [r["nth_element_min_us"] / r[f"{yardstick}_min_us"] for r in mine]
        bars = axis.bar(
            at, over, width * 0.92, color=COLOURS[place % len(COLOURS)],
            label=style.percent_text(density))
        axis.bar_label(bars, [style.two_digits(value) for value in over], fontsize=7, padding=1)
        axis.plot(at, other, linestyle="", marker="D", markersize=4, color="black")
    axis.axhline(1, color="black", linestyle="--", linewidth=1.2)
    style.log_axis(axis.yaxis, lambda value: f"{value:g}x")
    axis.set_ylim(bottom=min(0.5, min(over) / 1.5))
    axis.grid(axis="x", visible=False)
    axis.set_xticks(range(len(kinds)), kinds)
