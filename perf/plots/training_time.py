# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of the training example on slow networks: accuracy against time, the time of an epoch."""

from plots import records, style
from plots.style import plt

# The parts of a rank's time, and their styles.
PARTS = {
    "computing": "#BBBBBB", "selection": "#E69F00", "waiting for messages": "#0072B2",
    "rest of the calls": "#56B4E9",
}


def epoch_parts(rows):
    """Returns the seconds of an epoch for each of PARTS, from the means of all steps over ranks."""
    total = {key: sum(row[key] for row in rows) for key in
             ("compute_seconds", "call_seconds", "select_seconds", "wait_seconds")}
    epochs = max(row["epoch"] for row in rows)
    rest = total["call_seconds"] - total["select_seconds"] - total["wait_seconds"]
    parts = (total["compute_seconds"], total["select_seconds"], total["wait_seconds"], rest)
    return {name: seconds / epochs for name, seconds in zip(PARTS, parts)}


def modes_of(rows):
    """Returns pairs of a mode and its rows by time: dense first, then in the order of other
    legends."""
    found = {mode: mine for (mode,), mine in records.groups(rows, "mode")}
    order = sorted(found, key=lambda mode: (mode != "dense", style.rank_of(mode)))
    return [(mode, sorted(found[mode], key=lambda row: row["elapsed"])) for mode in order]


def look_of(mode):
    look = style.look("mpi-dense" if mode == "dense" else mode)
    return look | ({"label": "dense", "linestyle": "-"} if mode == "dense" else {})


def draw_accuracy(axis, rows):
    for mode, mine in modes_of(rows):
        percent = [100 * row["accuracy"] for row in mine]
        axis.plot([row["elapsed"] for row in mine], percent, **look_of(mode) | {"markersize": 4})
    axis.set_xlabel("seconds of training")
    axis.set_ylabel("test accuracy (%)")
    axis.set_xlim(0, None)


def draw_epoch(axis, rows):
    modes = modes_of(rows)
    labels = [look_of(mode)["label"] for mode, _ in modes]
    parts = [epoch_parts(mine) for _, mine in modes]
    ends = [0.0] * len(modes)
    for name, colour in PARTS.items():
        widths = [part[name] for part in parts]
        axis.barh(labels, widths, left=ends, color=colour, label=name, height=0.7)
        ends = [end + width for end, width in zip(ends, widths)]
    for place, end in enumerate(ends):
        axis.annotate(f" {style.two_digits(end)}", (end, place), va="center", fontsize=8)
    axis.invert_yaxis()
    axis.set_xlim(0, 1.1 * max(ends))
    axis.set_xlabel("seconds of an epoch")
    axis.grid(visible=False, axis="y")


def on_networks(rows):
    """Draws one picture for each shape of the training, with a column for each network."""
    for (ranks, count, batch), group in records.groups(rows, "ranks", "count", "batch"):
        networks = records.groups(group, "network")
        networks.sort(key=lambda item: max(row["elapsed"] / row["step"] for row in item[1]))
        figure, axes = plt.subplots(2, len(networks), figsize=(2 + 5 * len(networks), 8),
                                    squeeze=False)
        for column, ((network,), mine) in enumerate(networks):
            axes[0][column].set_title(f"links of {network}")
            draw_accuracy(axes[0][column], mine)
            draw_epoch(axes[1][column], mine)
        style.legend_right(axes[0][-1])
        style.legend_right(axes[1][-1])
        figure.suptitle(f"Training on {ranks} nodes, {count / 1e6:.1f} million parameters, "
                        f"{batch} images per rank and step", fontsize=11)
        yield f"training_time_{ranks}_ranks_{count}_{batch}", figure
