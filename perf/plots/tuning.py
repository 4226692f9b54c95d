# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of what sparsecoll-tune predicts."""

from plots import style
from plots.style import plt


def predictions(reports):
    """Draws for each length the predicted times against the density, and the measured ones if there are any."""
    for report in reports:
        for advice in report["advice"]:
            rows = advice["rows"]
            densities = [row["density"] for row in rows]

            def times(key):
                return [row[key] * 1e3 for row in rows]

            figure, axis = plt.subplots(figsize=(6.4, 4.0))
            axis.plot(densities, times("callSeconds"), "o-", color="#0072B2", label="sparseAllreduce")
            axis.plot(densities, times("exchangeSeconds"), ":", color="#0072B2", label="its messages")
            axis.plot(densities, times("localSeconds"), "-.", color="#0072B2", label="its selection")
            axis.plot(densities, times("denseSeconds"), "--", color="black", label=report["dense"]["name"])
            if all("measuredSeconds" in row for row in rows):
                axis.plot(densities, times("measuredSeconds"), "D", color="#D55E00", label="measured")
            axis.set_xscale("log")
            axis.set_yscale("log")
            style.log_axis(axis.yaxis, lambda value: f"{value:g}")
            axis.set_xticks(densities, [style.percent_text(density) for density in densities])
            axis.set_xlabel("density k/n")
            axis.set_ylabel("ms")
            axis.set_title(f"{advice['count']:,} values, {report['ranks']} ranks")
            axis.legend()
            yield f"tune_{report['ranks']}_ranks_{advice['count']}", figure
