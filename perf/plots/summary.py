# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""One picture for a README: what a call costs, and what training gets for its bytes."""

from plots import collective, records, style, training
from plots.style import plt


def best_group(rows):
    """Generated data, dense form, and of the rest the group with most rows, at its largest size."""
    wanted = [row for row in rows if row["form"] == "dense" and row["data"] == "generated"]
    groups = records.groups(collective.largest_ranks(wanted), *collective.SAME) if wanted else []
    if not groups:
        raise SystemExit("summary: there are no rows with form dense and generated data")
    group = max(groups, key=lambda item: len(item[1]))[1]
    return records.where(group, bytes=max(row["bytes"] for row in group))


def draw(rows):
    train = records.training(rows)
    if not train:
        raise SystemExit("summary: there are no rows of train_digits")
    group = best_group(records.collectives(rows))
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.9))
    # Auto is always one of the others, drawn on top of it.
    collective.draw_density(axes[0], [row for row in group if row["algorithm"] != "auto"])
    axes[0].set_title(
        f"Allreduce of {style.size_text(group[0]['bytes'])}, dense in and out\n"
        f"{style.machine_text(group)}")
    style.legend_below(axes[0], 3)
    training.draw(axes[1], train, "bytes_sent")
    axes[1].set_title("Training with error feedback\n" + training.subject(train))
    style.legend_below(axes[1], 4)
    yield "summary", figure
