# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""The style of all pictures. An algorithm has the same colour and marker in all of them."""

import matplotlib

matplotlib.use("Agg")  # writes files; needs no display

import matplotlib.pyplot as plt  # noqa: E402  (after the choice of the backend)
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator  # noqa: E402

# Okabe and Ito's palette, which is also distinct for colour-blind readers. Markers and dashes differ, too.
LOOKS = {
    "oktopk": ("Ok-Topk", "#0072B2", "o", "-"),
    "allgather": ("Top-k allgather", "#E69F00", "s", "-"),
    "gtopk": ("gTop-k", "#009E73", "^", "-"),
    "topk": ("Top-k allgather", "#E69F00", "s", "-"),
    "topka2a": ("TopkA2A", "#8C510A", "P", "-"),
    "sharded": ("Sharded", "#35978F", "p", "-"),
    "hierarchical": ("hierarchical", "#D55E00", "X", "-"),
    "oktopk-reuse": ("Ok-Topk, reused thresholds", "#0072B2", "h", "-."),
    "groups": ("Ok-Topk, a group of tensors", "#56B4E9", "d", "-"),
    "dgc": ("Deep Gradient Compression", "#CC79A7", "D", "-"),
    "sgp": ("SGP", "#999999", "<", "-"),
    "osgp": ("overlap SGP", "#999999", ">", "--"),
    "gossip": ("compressed gossip", "#F0E442", "*", "-"),
    "alltoall": ("sparseAlltoall", "#0072B2", "o", "-"),
    "auto": ("auto", "#CC79A7", "D", (0, (4, 2))),
    "auto-reordered": ("auto, sums in any order", "#CC79A7", "d", ":"),
    "dense": ("dense (ours)", "#56B4E9", "v", "-"),
    "mpi-dense": ("MPI_Allreduce", "#000000", "x", "--"),
    "mpi-allgather": ("MPI_Allgatherv of pairs", "#D55E00", "+", "--"),
    "mpi-alltoallv": ("MPI_Alltoall(v), sizes first", "#000000", "x", "--"),
}
ORDER = list(LOOKS)

plt.rcParams.update(
    {
        "figure.dpi": 110,
        "savefig.dpi": 160,
        "font.size": 10,
        "axes.titlesize": 10,
        "axes.labelsize": 10,
        "legend.fontsize": 9,
        "axes.grid": True,
        "grid.color": "#dddddd",
        "grid.linewidth": 0.6,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "lines.linewidth": 1.6,
        "lines.markersize": 5.5,
        "figure.constrained_layout.use": True,
        "svg.hashsalt": "sparsecoll",  # the same picture gives the same file
    }
)


def sorted_algorithms(rows):
    return sorted({row["algorithm"] for row in rows}, key=rank_of)


def rank_of(name):
    return ORDER.index(name) if name in ORDER else len(ORDER)


def look(name, **overrides):
    label, colour, mark, dash = LOOKS.get(name, (name, "#666666", ".", ":"))
    return {"label": label, "color": colour, "marker": mark, "linestyle": dash, **overrides}


def size_text(number):
    """Formats bytes with binary prefixes."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1024 or unit == "GiB":
            return f"{number:.3g} {unit}"
        number /= 1024
    return ""


def time_text(microseconds):
    if microseconds < 1e3:
        return f"{microseconds:.3g} µs"
    if microseconds < 1e6:
        return f"{microseconds / 1e3:.3g} ms"
    return f"{microseconds / 1e6:.3g} s"


def percent_text(share):
    return f"{100 * share:.2g}%" if share < 0.1 else f"{100 * share:.3g}%"


def two_digits(value):
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def log_axis(axis, text, base=10):
    """Makes an axis logarithmic. `text` formats its ticks."""
    scale = axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale
    scale("log", base=base)
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))
    axis.set_minor_formatter(NullFormatter())
    low, high = axis.get_view_interval()
    if base == 10:
        # Powers of ten alone are too few ticks on less than two decades.
        subs = (1, 2, 5) if low > 0 and high / low < 300 else (1,)
        axis.set_major_locator(LogLocator(base=10, subs=subs))
    else:
        axis.set_major_locator(LogLocator(base=2 if low > 0 and high / low < 64 else 4))
        axis.set_minor_locator(NullLocator())


def ticks_at(axis, places, text):
    axis.set_ticks(places)
    axis.set_ticklabels([text(place) for place in places])
    axis.set_minor_locator(NullLocator())


def machine_text(rows):
    """Returns ranks, transport and host for titles: "4 ranks over mpi, 2 cores (Xeon)"."""
    row = rows[0]
    counts = sorted({r["ranks"] for r in rows})
    text = f"{counts[0]} rank{'s' if counts[0] > 1 else ''}"
    if len(counts) > 1:
        text = f"{counts[0]} to {counts[-1]} ranks"
    words = {"mpi": " over MPI", "nccl": " over NCCL", "simulated": " over a simulated network"}
    text += words.get(row["transport"], " as threads")
    if "network" in row:
        network = row["network"]
        rate, latency = network["bits_per_second"] / 1e9, network["latency_us"]
        return f"{text} of {rate:g} Gbit/s, {latency:g} us"
    if row.get("hosts", 1) > 1:
        text += f" on {row['hosts']} hosts"
    if "cores" in row:
        text += f", {row['cores']} cores"
        text += processor_text(row)
    return text


def processor_text(row):
    kind = row.get("host_kind", "").replace("(R)", "").replace("(TM)", "").split(" @")[0]
    return f" ({kind})" if kind else ""


def verb_text(rows):
    """"sparseAllreduce, dense in and out" and so on."""
    verbs = sorted({row["program"] for row in rows}, reverse=True)
    names = {
        "sparse_allreduce_perf": "sparseAllreduce",
        "gtopk_allreduce_perf": "gtopkAllreduce",
        "sparse_alltoall_perf": "sparseAlltoall",
    }
    forms = {
        "dense": "dense in and out",
        "sparse": "exchange alone",
        "sum": "exact sum, exchange alone",
        "owners": "entries to their owners",
    }
    return " and ".join(names[verb] for verb in verbs) + ", " + forms[rows[0]["form"]]


def legend_right(axes, **options):
    """Puts the legend beside the axes, where it hides nothing."""
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1), **options)


def save(figure, folder, name, file_format):
    path = folder / f"{name}.{file_format}"
    metadata = {"Date": None} if file_format == "svg" else {"Software": None}
    figure.savefig(path, metadata=metadata, bbox_inches="tight", pad_inches=0.06)
    plt.close(figure)
    print(path)
