# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""The picture of the communication hooks of DDP on slow networks: loss against time."""

from plots import ddp_times, records, style
from plots.style import plt

# In the colours of the same thing in other pictures: dense, Ok-Topk.
LOOKS = {
    "dense": {"label": "DDP over gloo (dense)", "color": "#000000", "marker": "x"},
    "fp16": {"label": "fp16_compress_hook", "color": "#E69F00", "marker": "s"},
    "bf16": {"label": "bf16_compress_hook", "color": "#D55E00", "marker": "+"},
    "powersgd": {"label": "PowerSGD, rank {power_rank}", "color": "#009E73", "marker": "^"},
    "sparse": {"label": "sparsecoll, {density}", "color": "#0072B2", "marker": "o"},
    "sparse-bf16": {"label": "sparsecoll, {density}, bfloat16", "color": "#56B4E9", "marker": "d", "linestyle": "--"},
}
RATES = {"kbit": "kbit/s", "mbit": "Mbit/s", "gbit": "Gbit/s"}


def network_text(name):
    """"100 Mbit/s" for tc's 100mbit."""
    for unit, text in RATES.items():
        if name.endswith(unit):
            return f"{name[: -len(unit)]} {text}"
    return name


def look_of(way, row):
    words = {"power_rank": row["power_rank"], "density": style.percent_text(row["density"])}
    return LOOKS[way] | {"label": LOOKS[way]["label"].format(**words)}


def mark(axis, reached, goal):
    """Marks where curves reach a loss. `reached` has seconds and colours; labels that would meet are lower."""
    last, lower = 0, False
    for seconds, colour in sorted(reached):
        lower = seconds < 1.4 * last and not lower
        last = seconds
        axis.plot([seconds], [goal], linestyle="", marker="|", markersize=12, color=colour)
        axis.annotate(f"{style.two_digits(seconds)} s", (seconds, goal), xytext=(0, -28 if lower else -17),
                      textcoords="offset points", ha="center", fontsize=8, color=colour)


def draw(axis, curves, goal, rows):
    reached = []
    for curve in curves:
        look = look_of(curve.way, records.where(rows, way=curve.way)[0])
        axis.plot([p[1] for p in curve.points[1:]], [p[2] for p in curve.points[1:]], **look | {"markersize": 3})
        if curve.reaches(goal):
            reached.append((curve.reaches(goal)[1], look["color"]))
    low, high = axis.get_ylim()
    axis.set_ylim(low - 0.04 * (high - low), None)
    mark(axis, reached, goal)
    axis.axhline(goal, color="#999999", linewidth=0.8, linestyle=":")
    axis.set_xscale("log")
    style.log_axis(axis.xaxis, lambda seconds: f"{seconds:g}")
    axis.set_xlabel("seconds of training")


def loss_against_time(rows):
    """Draws one panel for each network. The time begins at the first loss after the first step."""
    rows = [row for row in records.ddp_training(rows) if "error" not in row]
    curves = ddp_times.curves(rows)
    if not any(curve.way == "dense" for curve in curves):
        return
    goal = ddp_times.goal_of(curves)
    networks = list(dict.fromkeys(curve.network for curve in curves))
    figure, axes = plt.subplots(1, len(networks), figsize=(2.5 + 4.6 * len(networks), 4.2), squeeze=False, sharey=True)
    for axis, network in zip(axes[0], networks):
        axis.set_title(f"links of {network_text(network)}")
        draw(axis, [curve for curve in curves if curve.network == network], goal, rows)
    axes[0][0].set_ylabel("loss of held-out text (nats per byte)")
    style.legend_right(axes[0][-1])
    row = rows[0]
    figure.suptitle(f"PyTorch DDP on {row['ranks']} nodes, a transformer of {row['count'] / 1e6:.1f} million "
                    f"parameters", fontsize=11)
    yield f"ddp_training_{row['ranks']}_ranks_{row['count']}", figure
