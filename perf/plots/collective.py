# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of the reductions: time against size, density and P, volume against P, speed-up."""

from plots import records, style
from plots.style import plt

# Rows that can share a picture agree in these. The two programs may: their baselines are the same.
SAME = ("form", "transport", "datatype", "feedback", "data")


def curve(rows, x_key, y_key):
    """Sorted x, and for each the median over rows (the programs may have measured it twice)."""
    points = {}
    for row in rows:
        points.setdefault(row[x_key], []).append(row[y_key])
    xs = sorted(points)
    return xs, [records.median(points[x]) for x in xs]


def draw_times(axes, rows, x_key):
    """Median time of every algorithm, with a line down to the minimum."""
    for name in style.sorted_algorithms(rows):
        mine = records.where(rows, algorithm=name)
        xs, medians = curve(mine, x_key, "time_median_us")
        _, minima = curve(mine, x_key, "time_min_us")
        down = [median - least for median, least in zip(medians, minima)]
        axes.errorbar(
            xs, medians, yerr=[down, [0] * len(down)], elinewidth=1, capsize=2.5,
            **style.look(name))


def name_of(kind, key):
    form, transport, datatype, feedback, data = key
    parts = [kind, form, transport]
    if datatype != "float32":
        parts.append(datatype)
    if feedback:
        parts.append("feedback")
    if data != "generated":
        parts.append("".join(c if c.isalnum() else "-" for c in data))
    return "_".join(parts)


def title(figure, rows, extra=""):
    head = style.verb_text(rows) + (", error feedback" if rows[0]["feedback"] else "")
    if rows[0]["data"] != "generated":
        head += ", real gradient"
    figure.suptitle(f"{head}{extra}\n{style.machine_text(rows)}", fontsize=11)


def panels(count, width=4.0, height=3.6):
    size = (max(width * count, 7.2) + (1.6 if count > 1 else 0), height)
    figure, axes = plt.subplots(1, count, figsize=size, sharey=True, squeeze=False)
    return figure, list(axes[0])


def largest_ranks(rows):
    """The rows of the P of which there are most, for pictures at one P."""
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
    style.log_axis(axis.yaxis, style.time_text)
    style.log_axis(axis.xaxis, style.percent_text)
    style.ticks_at(axis.xaxis, records.values(rows, "density"), style.percent_text)
    axis.set_xlabel("density k/n")
    axis.set_ylabel("time per call (median, whisker to minimum)")


def against_ranks(rows, kind, y_key, label, text):
    for key, group in records.groups(rows, *SAME):
        group = records.nearest_densities(group)
        for (size, density), mine in records.groups(group, "bytes", "density"):
            counts = records.values(mine, "ranks")
            if len(counts) < 2:
                continue
            figure, (axis,) = panels(1, width=7.2, height=4.0)
            if y_key == "time_median_us":
                draw_times(axis, mine, "ranks")
            else:
                for name in style.sorted_algorithms(mine):
                    these = records.where(mine, algorithm=name)
                    look = style.look(name)
                    if these[0]["wire_bytes_is_model"]:
                        look["label"] += " (computed)"
                    axis.plot(*curve(these, "ranks", y_key), **look)
            style.log_axis(axis.yaxis, text, base=2 if text is style.size_text else 10)
            style.log_axis(axis.xaxis, str, base=2)
            style.ticks_at(axis.xaxis, counts, str)
            axis.set_xlabel("ranks P")
            axis.set_ylabel(label)
            style.legend_right(axis)
            what = f", {style.size_text(size)} vector, density {style.percent_text(density)}"
            title(figure, mine, what)
            name = name_of(kind, key) + f"_{size}_{density:g}"
            yield name, figure


def volume_against_ranks(rows):
    label = "sent per call by the busiest rank"
    positive = [row for row in rows if row["wire_bytes"] > 0]
    yield from against_ranks(positive, "volume_ranks", "wire_bytes", label, style.size_text)


def time_against_ranks(rows):
    label = "time per call (median, whisker to minimum)"
    yield from against_ranks(rows, "time_ranks", "time_median_us", label, style.time_text)


def speedup(rows):
    """Bars over mpi-dense: one cluster for each density, at the largest size."""
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
            bars = axis.bar(at, ys, width * 0.92, color=look["color"], label=look["label"])
            axis.bar_label(bars, fmt="%.2g", fontsize=7, padding=1)
        axis.axhline(1, color="black", linestyle="--", linewidth=1.2, label="MPI_Allreduce")
        axis.set_xticks(range(len(densities)), [style.percent_text(d) for d in densities])
        axis.grid(axis="x", visible=False)
        axis.set_xlabel("density k/n")
        axis.set_ylabel("times faster than MPI_Allreduce (medians)")
        axis.set_ylim(top=axis.get_ylim()[1] * 1.08)
        style.legend_right(axis)
        title(figure, group, f", {style.size_text(group[0]['bytes'])} vector")
        yield name_of("speedup", key), figure
