# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""One picture for a README: the time of a call, the bytes that it sends, and the accuracy of training."""

from plots import collective, records, style, training
from plots.style import plt


def best_group(rows):
    """Returns rows of generated data in the dense form: the group with most rows, at its largest size."""
    wanted = [row for row in rows if row["form"] == "dense" and row["data"] == "generated"]
    groups = records.groups(collective.largest_ranks(wanted), *collective.SAME) if wanted else []
    if not groups:
        raise SystemExit("summary: there are no rows with form dense and generated data")
    group = max(groups, key=lambda item: len(item[1]))[1]
    # Left out: Auto, which always runs one of the others, and the library's dense sum, which is not
    # meant to be faster than MPI's.
    group = [row for row in group if row["algorithm"] not in ("auto", "auto-reordered", "dense")]
    return records.where(group, bytes=max(row["bytes"] for row in group))


def draw(rows):
    train = records.training(rows)
    if not train:
        raise SystemExit("summary: there are no rows of train_digits")
    group = best_group(records.collectives(rows))
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.4))
    size = style.size_text(group[0]["bytes"])
    collective.draw_density(axes[0], group)
    axes[0].set_title(f"Time to allreduce {size},\ndense in and out")
    collective.draw_bytes(axes[1], group, "density")
    axes[1].set_title(f"Bytes sent per rank\nto allreduce {size} (dashed: computed)")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, frameon=False, ncol=3, loc="upper center", bbox_to_anchor=(0.34, 0.0))
    training.draw(axes[2], train, "bytes_sent")
    axes[2].set_title("Training, " + training.subject(train))
    handles, labels = axes[2].get_legend_handles_labels()
    figure.legend(
        handles, labels, frameon=False, ncol=2, loc="upper center", bbox_to_anchor=(0.85, 0.0))
    figure.suptitle(style.machine_text(group), fontsize=11)
    yield "summary", figure
