# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of the training example: accuracy against epochs and against bytes sent."""

from plots import records, style
from plots.style import plt


def label_of(mode, rows):
    if mode == "dense":
        return "dense"
    if rows[0]["density"] == 1:
        return style.look(mode)["label"]
    return f"{style.look(mode)['label']}, {style.percent_text(rows[0]['density'])}"


def look_of(mode, rows):
    """Returns the style of a line that has a marker at its end only."""
    name = "mpi-dense" if mode == "dense" else mode
    last = len(records.values(rows, "epoch")) - 1
    look = style.look(name, label=label_of(mode, rows), markevery=[last])
    return look | {"linestyle": "-"} if mode == "dense" else look


def over_seeds(rows, key):
    """Returns the epochs, and for each the mean, least and largest value over the seeds."""
    epochs, means, lows, highs = [], [], [], []
    for epoch in records.values(rows, "epoch"):
        found = [row[key] for row in records.where(rows, epoch=epoch)]
        epochs.append(epoch)
        means.append(sum(found) / len(found))
        lows.append(min(found))
        highs.append(max(found))
    return epochs, means, lows, highs


def draw(axis, rows, against):
    """Draws the test accuracy in per cent against "epoch" or "bytes_sent". The band covers the seeds."""
    for (mode, _), mine in sorted(
        records.groups(rows, "mode", "density"), key=lambda item: style.rank_of(item[0][0])
    ):
        mine = [dict(row, percent=100 * row["accuracy"]) for row in mine]
        xs, means, lows, highs = over_seeds(mine, "percent")
        if against == "bytes_sent":
            _, xs, _, _ = over_seeds(mine, "bytes_sent")
        line = axis.plot(xs, means, **look_of(mode, mine))[0]
        axis.fill_between(xs, lows, highs, color=line.get_color(), alpha=0.15, linewidth=0)
    axis.set_ylabel("test accuracy (%)")
    best = 100 * max(row["accuracy"] for row in rows)
    axis.set_ylim(max(100 * min(row["accuracy"] for row in rows) - 1, best - 20), None)
    if against == "bytes_sent":
        style.log_axis(axis.xaxis, style.size_text, base=2)
        axis.set_xlabel("sent so far by the busiest rank")
        tick_bytes(axis)
    else:
        axis.set_xlabel("epoch")
        axis.xaxis.set_major_locator(plt.MaxNLocator(integer=True))


def tick_bytes(axis):
    low, high = axis.get_xlim()
    places = [2**power for power in range(10, 50, 2) if 1.3 * low <= 2**power <= high / 1.3]
    style.ticks_at(axis.xaxis, places, style.size_text)


def subject(rows):
    seeds = len(records.values(rows, "seed"))
    counts = records.values(rows, "ranks")
    text = f"optical digits, {counts[0]} ranks"
    transport = rows[0].get("transport", "")
    text += {"mpi": " over MPI", "local": " as threads"}.get(transport, "")
    return text + (f",\nmean and range of {seeds} seeds" if seeds > 1 else "")


def accuracy(rows):
    if not rows:
        return
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.0), sharey=True)
    draw(axes[0], rows, "epoch")
    draw(axes[1], rows, "bytes_sent")
    axes[1].set_ylabel("")
    style.legend_right(axes[1])
    figure.suptitle("Training, " + subject(rows), fontsize=11)
    yield "training_accuracy", figure
