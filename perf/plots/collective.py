# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of allreduces: time against size, density and P, volume against P, speed-up."""

import re

from plots import records, style
from plots.style import plt

# Rows of one picture have the same values of these keys. Rows of both programs may share a picture,
# because they have the same baselines.
SAME = ("form", "transport", "datatype", "wire", "feedback", "data")


def curve(rows, x_key, y_key):
    """Returns the sorted x, and for each x the median over its rows: both programs may have
    measured it."""
    points = {}
    for row in rows:
        points.setdefault(row[x_key], []).append(row[y_key])
    xs = sorted(points)
    return xs, [records.median(points[x]) for x in xs]


def draw_times(axes, rows, x_key):
    """Draws the median time of every algorithm, with a line down to the minimum."""
    for name in style.sorted_algorithms(rows):
        mine = records.where(rows, algorithm=name)
        xs, medians = curve(mine, x_key, "time_median_us")
        _, minima = curve(mine, x_key, "time_min_us")
        down = [median - least for median, least in zip(medians, minima)]
        axes.errorbar(
            xs, medians, yerr=[down, [0] * len(down)], elinewidth=1, capsize=2.5,
            **style.look(name))


def draw_bytes(axis, rows, x_key):
    """Draws the bytes that the busiest rank sends in a call."""
    for name in style.sorted_algorithms(rows):
        mine = [row for row in records.where(rows, algorithm=name) if row["wire_bytes"] > 0]
        look = style.look(name)
        if mine and mine[0]["wire_bytes_is_model"]:
            look["label"] += " (computed)"
        axis.plot(*curve(mine, x_key, "wire_bytes"), **look)
    style.log_axis(axis.yaxis, style.size_text, base=2)
    axis.set_ylabel("sent per call by the busiest rank")
    x_axis(axis, rows, x_key)


def dense_at_best(row, ranks):
    """Returns lower bounds of the time (us) and bytes of a dense allreduce on the row's network."""
    sent = 2 * (ranks - 1) / ranks * row["bytes"]
    network = row["network"]
    steps = 2 * (ranks - 1).bit_length()
    return steps * network["latency_us"] + sent * 8e6 / network["bits_per_second"], sent


def draw_dense_at_best(axis, rows, which):
    """Draws these bounds for a simulated network, which MPI cannot use; `which`: 0 time, 1 bytes."""
    if "network" not in rows[0] or rows[0]["network"]["ranks_per_node"] != 1:
        return
    xs = records.values(rows, "ranks")
    axis.plot(
        xs, [dense_at_best(rows[0], x)[which] for x in xs], color="0.5", linestyle="--",
        label="dense, at best (computed)")


def x_axis(axis, rows, x_key):
    if x_key == "ranks":
        style.log_axis(axis.xaxis, str, base=2)
        style.ticks_at(axis.xaxis, records.values(rows, "ranks"), str)
        axis.set_xlabel("ranks P")
    else:
        style.log_axis(axis.xaxis, style.percent_text)
        style.ticks_at(axis.xaxis, records.values(rows, "density"), style.percent_text)
        axis.set_xlabel("density k/n")


def name_of(kind, key):
    form, transport, datatype, wire, feedback, data = key
    parts = [kind, form, transport]
    if datatype != "float32":
        parts.append(datatype)
    if wire != "native":
        parts.append(wire)
    if feedback:
        parts.append("feedback")
    if data != "generated":
        parts.append(re.sub(r"\W+", "-", data.split(".")[0]))
    return "_".join(parts)


def title(figure, rows, extra=""):
    head = style.verb_text(rows) + (", error feedback" if rows[0]["feedback"] else "")
    if rows[0]["wire"] != "native":
        head += f", {rows[0]['wire']} wire"
    if rows[0]["data"] != "generated":
        head += ", real gradient"
    figure.suptitle(f"{head}{extra}\n{style.machine_text(rows)}", fontsize=11)


def panels(count, width=4.0, height=3.6):
    size = (max(width * count, 7.2) + (1.6 if count > 1 else 0), height)
    figure, axes = plt.subplots(1, count, figsize=size, sharey=True, squeeze=False)
    return figure, list(axes[0])


def largest_ranks(rows):
    """Returns the rows with the most frequent P, for pictures at one P."""
    counts = [row["ranks"] for row in rows]
    most = max(sorted(set(counts)), key=counts.count)
    return records.where(rows, ranks=most)


def time_against_size(rows):
    for key, group in records.groups(rows, *SAME):
        group = records.nearest_densities(largest_ranks(group))
        if len(records.values(group, "bytes")) < 2:
            continue
        densities = records.values(group, "density")
        figure, axes = panels(len(densities))
        for axis, density in zip(axes, densities):
            mine = records.where(group, density=density)
            draw_times(axis, mine, "bytes")
            style.log_axis(axis.yaxis, style.time_text)
            style.log_axis(axis.xaxis, style.size_text, base=2)
            sizes = records.values(mine, "bytes")
            style.ticks_at(axis.xaxis, sizes[:: (len(sizes) + 3) // 4], style.size_text)
            axis.set_title(f"density {style.percent_text(density)}")
            axis.set_xlabel("dense vector")
        axes[0].set_ylabel("time per call (median, whisker to minimum)")
        style.legend_right(axes[-1])
        title(figure, group)
        yield name_of("time_size", key), figure


def time_against_density(rows):
    for key, group in records.groups(rows, *SAME):
        group = largest_ranks(group)
        group = records.where(group, bytes=max(row["bytes"] for row in group))
        if len(records.values(group, "density")) < 2:
            continue
        figure, (axis,) = panels(1, width=7.2, height=4.0)
        draw_density(axis, group)
        style.legend_right(axis)
        title(figure, group, f", {style.size_text(group[0]['bytes'])} vector")
        yield name_of("time_density", key), figure


def draw_density(axis, rows):
    draw_times(axis, rows, "density")
    finish_times(axis, rows, "density")


def finish_times(axis, rows, x_key):
    style.log_axis(axis.yaxis, style.time_text)
    axis.set_ylabel("time per call (median, whisker to minimum)")
    x_axis(axis, rows, x_key)


def against_ranks(rows, kind, draw):
    for key, group in records.groups(rows, *SAME):
        group = records.nearest_densities(group)
        for (size, density), mine in records.groups(group, "bytes", "density"):
            if len(records.values(mine, "ranks")) < 2:
                continue
            figure, (axis,) = panels(1, width=7.2, height=4.0)
            draw(axis, mine, "ranks")
            style.legend_right(axis)
            what = f", {style.size_text(size)} vector, density {style.percent_text(density)}"
            title(figure, mine, what)
            yield name_of(kind, key) + f"_{size}_{density:g}", figure


def volume_against_ranks(rows):
    def draw(axis, mine, x_key):
        draw_dense_at_best(axis, mine, 1)
        draw_bytes(axis, mine, x_key)

    yield from against_ranks(rows, "volume_ranks", draw)


def time_against_ranks(rows):
    def draw(axis, mine, x_key):
        draw_dense_at_best(axis, mine, 0)
        draw_times(axis, mine, x_key)
        finish_times(axis, mine, x_key)

    yield from against_ranks(rows, "time_ranks", draw)


def speedup(rows):
    """Draws the speed-up over mpi-dense as bars: a cluster for each density, at the largest
    size."""
    for key, group in records.groups(rows, *SAME):
        group = records.nearest_densities(largest_ranks(group))
        group = [row for row in group if row["times_faster_than_dense"] is not None]
        group = [row for row in group if row["algorithm"] != "mpi-dense"]
        if not group:
            continue
        group = records.where(group, bytes=max(row["bytes"] for row in group))
        names = style.sorted_algorithms(group)
        densities = records.values(group, "density")
        figure, (axis,) = panels(1, width=max(7.2, 1.8 + 0.36 * len(names) * len(densities)), height=4.0)
        width = 0.84 / len(names)
        for place, name in enumerate(names):
            mine = records.where(group, algorithm=name)
            xs, ys = curve(mine, "density", "times_faster_than_dense")
            at = [densities.index(x) + (place - (len(names) - 1) / 2) * width for x in xs]
            look = style.look(name)
            # A bar goes up from 1 if it is faster, and down if it is slower.
            heights = [y - 1 for y in ys]
            bars = axis.bar(
                at, heights, width * 0.92, bottom=1, color=look["color"], label=look["label"])
            axis.bar_label(bars, [style.two_digits(y) for y in ys], fontsize=7, padding=1)
        style.log_axis(axis.yaxis, lambda value: f"{value:g}x")
        axis.margins(y=0.12)
        axis.set_ylim(top=max(axis.get_ylim()[1], 1.3))
        axis.axhline(1, color="black", linestyle="--", linewidth=1.2, label="MPI_Allreduce")
        axis.set_xticks(range(len(densities)), [style.percent_text(d) for d in densities])
        axis.grid(axis="x", visible=False)
        axis.set_xlabel("density k/n")
        axis.set_ylabel("speed over MPI_Allreduce (medians)")
        style.legend_right(axis)
        title(figure, group, f", {style.size_text(group[0]['bytes'])} vector")
        yield name_of("speedup", key), figure
