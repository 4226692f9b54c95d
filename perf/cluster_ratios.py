# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""The jobs of perf/cluster.sh, and the table of their targets that are ratios, for cluster_report.py."""

MEGABIT = 1e6
# The target of the wire format: at most this many bytes of an entry, for float32 at a density of
# 0.1% to 1%.
CODED = 5.6
NONE = "-"


def mbit_of(rate):
    """Returns a rate such as "1gbit" in Mbit/s; None for any other text."""
    number = rate.rstrip("gmbit")
    unit = {"gbit": 1000, "mbit": 1}.get(rate[len(number):])
    return float(number) * unit if unit else None


class Job:
    """A job: its command and circumstances, and its rows."""

    def __init__(self, entry, rows):
        self.entry = entry
        self.rows = rows
        self.mbit = mbit_of(entry["rate"])
        self.uplink_mbit = mbit_of(entry.get("uplink", NONE))

    def row(self, algorithm, density=None):
        for row in self.rows:
            if row.get("algorithm") == algorithm and density in (None, nominal(row)):
                return row
        return None

    def line_ms(self, wire_bytes):
        """Returns the time in milliseconds that these bytes take on one link."""
        return wire_bytes * 8 / (self.mbit * MEGABIT) * 1e3


def nominal(row):
    """Returns the density that was asked for, with one digit. k/n differs, because k is an integer."""
    return float(f"{row['density']:.1g}")


def table(titles, rows):
    if not rows:
        return
    print("| " + " | ".join(titles) + " |")
    print("|" + "---|" * len(titles))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def ms(row, statistic):
    return row[f"time_{statistic}_us"] / 1e3


def digits(value):
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def pair(row):
    return f"{digits(ms(row, 'min'))} / {digits(ms(row, 'median'))}"


def verdict(value, target, below=False):
    return "yes" if (value <= target if below else value >= target) else "no"


def ratio_line(job, words, ours, beside, target, limit_ms, density, faster=True):
    """Returns a line for a target that is a ratio of two rows. `faster`: the ratio is a speed-up."""
    mine, other = job.row(ours, density), job.row(beside, density)
    if mine is None or other is None:
        return []
    best = other["time_min_us"] / mine["time_min_us"]
    median = other["time_median_us"] / mine["time_median_us"]
    if not faster:
        best, median = 1 / best, 1 / median
    sign = ">=" if faster else "<="
    return [[words, f"{sign} {target}x {beside}", f"{best:.2f} / {median:.2f}", pair(mine), pair(other),
             digits(limit_ms(mine)), digits(job.line_ms(mine["wire_bytes"])),
             verdict(median, target, below=not faster)]]


def coded_exchange(job, row):
    """Returns the entries that the busiest rank sends: split and reduce, then all k results to all."""
    return job.line_ms(2 * row["k"] * (row["ranks"] - 1) / row["ranks"] * CODED)


def coded_sum(job, row):
    """Returns the entries that the cheaper way to an exact sum sends: all entries to all ranks, or
    all sums."""
    away = (row["ranks"] - 1) / row["ranks"]
    gathered = (row["ranks"] - 1) * row["k"]
    reduced = (row["k"] + row["nnz_out"]) * away
    return job.line_ms(min(gathered, reduced) * CODED)


def ratios(jobs):
    lines = []
    for density, exchange, end, apart, common in ((0.001, 5, 35, 2.0, 6), (0.01, 10, 22, 2.6, 8)):
        for name, ours, beside, target, words, limit in (
            ("exchange", "auto", "mpi-allgather", exchange, "exchange, top-k of the sum", coded_exchange),
            ("shared_nodes", "auto", "mpi-allgather", exchange, "the same, 4 nodes of 2 ranks",
             coded_exchange),
            ("shared_nodes", "hierarchical", "mpi-allgather", exchange, "the same, by node",
             coded_exchange),
            ("sum_apart", "auto", "mpi-allgather", apart, "exact sum, different indices", coded_sum),
            ("sum_common", "auto", "mpi-allgather", common, "exact sum, 90% common", coded_sum),
            ("end_to_end", "auto", "mpi-dense", end, "end to end", coded_exchange),
            ("shared_nodes_dense", "auto", "mpi-dense", end, "end to end, 4 nodes of 2 ranks",
             coded_exchange),
            ("alltoall", "alltoall", "mpi-alltoallv", 1.4, "all-to-all",
             lambda job, row: job.line_ms(row["k"] * (row["ranks"] - 1) / row["ranks"] * CODED)),
        ):
            if name in jobs:
                job = jobs[name]
                lines += ratio_line(job, f"{words}, {density:.1%}", ours, beside, target,
                                    lambda row, job=job, limit=limit: limit(job, row), density)
    if "sharded_nodes" in jobs:
        job = jobs["sharded_nodes"]

        def link_of_node(row):
            nodes = row["ranks"] // 2
            return job.line_ms(2 * row["k"] * (nodes - 1) / nodes * CODED)

        for beside, target in (("oktopk", 1.5), ("mpi-dense", 15)):
            lines += ratio_line(job, "end to end by shard, 4 nodes of 2 ranks, 1.0%", "sharded", beside,
                                target, link_of_node, 0.01)
    if "racks" in jobs:
        job = jobs["racks"]

        def uplink(row):
            """Returns the entries through a rack's link: half of its sum, and half of the result."""
            racks, own = job.entry["racks"], row["ranks"] / job.entry["racks"]
            union = row["k"] * (row["overlap"] + own * (1 - row["overlap"]))
            return (union + row["k"]) * (racks - 1) / racks * CODED * 8 / job.uplink_mbit / 1e3

        lines += ratio_line(job, "two racks, by level, half in common, 1.0%", "hierarchical", "oktopk",
                            1.7, uplink, 0.01)
    if "gtopk" in jobs:
        job = jobs["gtopk"]

        def rounds(row):
            return job.line_ms((row["ranks"] - 1).bit_length() * row["k"] * CODED)

        for beside, target in (("mpi-allgather", 5), ("allgather", 3)):
            lines += ratio_line(job, "gtopk, 32 nodes", "gtopk", beside, target, rounds, 0.001)
    if "dense_limit" in jobs:
        job = jobs["dense_limit"]
        for ours in ("auto", "dense"):
            lines += ratio_line(
                job, f"density 1, {ours}", ours, "mpi-dense", 1.1,
                lambda row: job.line_ms(2 * row["bytes"] * (row["ranks"] - 1) / row["ranks"]), 1.0,
                faster=False)
    table(["what", "target", "reached, min / median", "ours (ms)", "beside (ms)",
           "coded, at line rate (ms)", "sent, at line rate (ms)", "met"], lines)
