#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Measures sparsecoll.torch.SparseGradients against the sparse allreduce of gloo.

A gradient has some rows of a large table, as that of nn.Embedding(sparse=True): in random order, not
coalesced. Both ways begin with this gradient and end with a coalesced one. They take turns.

Examples:
  perf/launch -n 2 python3 perf/torch/sparse_gradients_perf.py --rows 2000
  perf/netlab run --nodes 8 --rate 1gbit -- \\
    perf/torch/rank.sh python3 perf/torch/sparse_gradients_perf.py -J rows.json
Both need PYTHONPATH=src/python, and SPARSECOLL_LIBRARY if the library is not installed."""

import os
import pathlib
import sys
import time

import numpy as np
import torch
import torch.distributed as dist

import sparsecoll.torch as st

# Makes the modules of perf/ importable from any current folder.
sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]), str(pathlib.Path(__file__).resolve().parent)]

from plots import options as command_line  # noqa: E402
from tables import Table, number, over_ranks, summary  # noqa: E402

WAYS = ("ours", "gloo")


def gradient_of(options, common, rank, size):
    """Returns the rows of a rank, in random order, and their values. The share `common` of the rows
    is on all ranks; no other row is on two. Values are whole, so that their sums are exact."""
    shared = np.random.default_rng(options.seed)
    own = np.random.default_rng([options.seed, rank])
    stride = options.count // options.rows
    is_common = shared.permutation(options.rows) < round(common * options.rows)
    place = 1 + rank + size * own.integers(0, (stride - 1) // size, options.rows)
    rows = np.arange(options.rows) * stride + np.where(is_common, 0, place)
    values = own.integers(-999, 1000, (options.rows, options.columns)).astype(np.float32)
    return own.permutation(rows), values


def sum_of(options, common, size):
    """Returns the rows of the sum and their values, from the gradients of all ranks."""
    parts = [gradient_of(options, common, rank, size) for rank in range(size)]
    rows = np.concatenate([part[0] for part in parts])
    order = np.argsort(rows, kind="stable")
    rows, starts = np.unique(rows[order], return_index=True)
    values = np.concatenate([part[1] for part in parts])[order]
    return rows, np.add.reduceat(values, starts) if len(starts) else values


def bytes_out():
    """Returns the bytes that this node has sent through its network, or None without one of its own."""
    device = os.environ.get("GLOO_SOCKET_IFNAME")
    for line in pathlib.Path("/proc/net/dev").read_text().splitlines():
        name, _, numbers = line.partition(":")
        if device and name.strip() == device:
            return int(numbers.split()[8])
    return None


class Ways:
    """The two ways to sum a gradient. Each returns the seconds of this rank, and the sum."""

    def __init__(self, options):
        self._weight = torch.nn.Parameter(torch.zeros(options.count, options.columns))
        self._sparse = st.SparseGradients([self._weight])
        self.comm = self._sparse.comm

    def ours(self, gradient):
        self._weight.grad = gradient
        begin = time.perf_counter()
        self._sparse.synchronize()
        seconds = time.perf_counter() - begin
        return seconds, self._weight.grad

    @staticmethod
    def gloo(gradient):
        begin = time.perf_counter()
        dist.all_reduce(gradient)
        return time.perf_counter() - begin, gradient

    def destroy(self):
        self._sparse.destroy()


def wrong_values(total, divisor, expected):
    """Returns how many values of a sum, or of a mean, are not as expected."""
    rows, values = expected
    if not total.is_coalesced() or not np.array_equal(total.indices()[0].numpy(), rows):
        return max(values.size, 1)
    # Means of whole numbers are exact if the number of ranks is a power of two.
    tolerance = 0 if divisor & (divisor - 1) == 0 else 1e-6
    return int((~np.isclose(total.values().numpy(), values / divisor, rtol=tolerance, atol=0)).sum())


def measure(options, common, ways):
    """Returns the times of each call by way, the bytes of each way through the link, and the wrong values."""
    rank, size = dist.get_rank(), dist.get_world_size()
    rows, values = (torch.from_numpy(part) for part in gradient_of(options, common, rank, size))
    expected = sum_of(options, common, size)
    times = {way: [] for way in WAYS}
    link = {way: 0 for way in WAYS}
    wrong = 0
    for repetition in range(-options.warmup, options.repeat):
        for way in WAYS:
            gradient = torch.sparse_coo_tensor(rows[None], values, (options.count, options.columns))
            dist.barrier()
            before = bytes_out()
            seconds, total = getattr(ways, way)(gradient)
            dist.barrier()
            if repetition in (-options.warmup, options.repeat - 1):
                wrong += wrong_values(total, size if way == "ours" else 1, expected)
            if repetition >= 0:
                times[way].append(seconds)
                link[way] += 0 if before is None else bytes_out() - before
    return {way: over_ranks(each) for way, each in times.items()}, link, wrong, len(expected[0])


def report(options, common, ways, table):
    """Measures and prints one row. Returns the wrong values of all ranks."""
    size = dist.get_world_size()
    times, link, wrong, sum_rows = measure(options, common, ways)
    stats = ways.comm.stats()
    totals = over_ranks([wrong, stats.bytes_sent, *(link[way] / options.repeat for way in WAYS)],
                        dist.ReduceOp.SUM)
    # Every rank sends what it has of the others' regions, and its region of the sum to all others.
    value_bytes = 4 * options.columns * (size - 1) * (options.rows + sum_rows)
    fields = {"ranks": size, "count": options.count, "columns": options.columns, "rows": options.rows,
              "common": common, "sum_rows": sum_rows}
    for way in WAYS:
        fields.update(summary(way, times[way]))
    fields.update(sent_bytes=int(totals[1]), value_bytes=value_bytes, link_bytes=int(totals[2]),
                  gloo_link_bytes=int(totals[3]), wrong=int(totals[0]),
                  **{f"{phase}_ms": round(1000 * most, 3) for phase, most in zip(
                      PHASES, over_ranks([getattr(stats, f"{phase}_seconds") for phase in PHASES]))})
    faster = [fields[f"gloo_{which}_ms"] / fields[f"ours_{which}_ms"] for which in ("min", "median")]
    mega = 1e-6 / size
    table.row([str(options.rows), number(100 * common), str(sum_rows),
               *(number(fields[f"{way}_{which}_ms"]) for way in WAYS for which in ("min", "median")),
               *map(number, faster), number(totals[1] * mega),
               f"{totals[1] / value_bytes:.3f}" if value_bytes else "-",
               *(number(each * mega) if each else "-" for each in totals[2:]), str(int(totals[0]))], fields)
    return int(totals[0])


PHASES = ("select", "pack", "exchange", "reduce")


def main():
    parser = command_line.Parser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000000, help="rows of the table")
    parser.add_argument("--columns", type=int, default=64, help="values of a row, float32")
    parser.add_argument("--rows", type=int, default=20000, help="rows of each rank's gradient")
    parser.add_argument("--common", type=float, nargs="+", default=[0, 0.9],
                        help="shares of rows that all ranks have")
    parser.add_argument("-n", "--repeat", type=int, default=9)
    parser.add_argument("-w", "--warmup", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-J", "--json", default="", help="file for rows of JSON")
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    if (options.count // options.rows - 1) // dist.get_world_size() < 1:
        parser.error(f"--rows {options.rows}: too many for disjoint rows of {options.count}")
    table = Table("sparse_gradients_perf", [
        ("rows", "", 8), ("common", "(%)", 6), ("sum", "(rows)", 8), ("ours min", "(ms)", 9),
        ("median", "(ms)", 8), ("gloo min", "(ms)", 9), ("median", "(ms)", 8), ("faster", "(min)", 7),
        ("", "(median)", 8), ("sent", "(MB/rank)", 9), ("sent", "(x values)", 10), ("link ours", "(MB/rank)", 9),
        ("link gloo", "(MB/rank)", 9), ("#wrong", "", 6)], options.json)
    table.describe()
    table.comment(f"{options.rows} of {options.count} rows a rank, {options.columns} float32 each, "
                  "in random order")
    table.comment(f"time of a call: max over ranks, after a barrier; {options.repeat} calls after "
                  f"{options.warmup}, by turns")
    table.comment("ours: SparseGradients.synchronize(), the mean; gloo: torch.distributed.all_reduce, the sum")
    table.comment("sent: what the library counts, mean over ranks; link: bytes of the network, with headers")
    table.comment("x values: over the values of a reduce-scatter and an allgather of these rows, without indices")
    ways = Ways(options)
    table.titles()
    wrong = sum(report(options, common, ways, table) for common in options.common)
    ways.destroy()
    table.comment()
    table.comment(f"Wrong results : {wrong} {'FAILED' if wrong else 'OK'}")
    dist.destroy_process_group()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
