# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""A picture of what the residual rules of gtopkAllreduce lose."""

from plots import records, style
from plots.style import plt

LOOKS = {"conserving": ("conserving", "#0072B2", "-"), "paper": ("as published", "#D55E00", "--")}


def lost(rows):
    """Draws the share of the sum of all values that is neither delivered nor in a residual."""
    for (ranks, count, density), group in records.groups(rows, "ranks", "count", "density"):
        figure, axis = plt.subplots(figsize=(6.4, 3.6))
        for rule, (label, colour, dash) in LOOKS.items():
            for row in records.where(group, rule=rule):
                axis.plot(range(1, len(row["lost"]) + 1), [100 * share for share in row["lost"]], label=label,
                          color=colour, linestyle=dash)
        axis.set_xlabel("step")
        axis.set_ylabel("lost, % of the sum of all values")
        axis.set_ylim(bottom=-0.02 * axis.get_ylim()[1])
        axis.set_title(f"gtopkAllreduce, {ranks} ranks, {count:,} values, density {style.percent_text(density)}")
        axis.legend(title="residual rule")
        yield f"residual_rule_{ranks}_ranks_{count}", figure
