#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Measures what DDPHook adds to the C calls that it makes in a step of training.

`calls` makes the same calls with arguments that were prepared before: one group for each bucket, and
a wait for all of them. `hook` passes the hook buckets of the same tensors and waits for the futures.
They take turns in the same processes.

Examples:
  perf/launch -n 2 python3 perf/torch/hook_cost.py
  perf/launch -n 2 python3 perf/torch/hook_cost.py --buckets 1 --values 100000 --tensors 10
Both need PYTHONPATH=src/python, and SPARSECOLL_LIBRARY if the library is not installed."""

import math
import pathlib
import sys
import time

import torch
import torch.distributed as dist

import sparsecoll as sc
import sparsecoll.torch as st
from sparsecoll._library import functions

# Makes the modules of perf/ importable from any current folder.
sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]), str(pathlib.Path(__file__).resolve().parent)]

from plots import options as command_line  # noqa: E402
from tables import Table, number, over_ranks, summary  # noqa: E402


class Bucket:
    """A stand-in for GradBucket, with the part that the hook uses."""

    def __init__(self, parameters, last):
        self._parameters = parameters
        self._last = last
        self._buffer = torch.zeros(sum(p.numel() for p in parameters))
        self._gradients = list(self._buffer.split([p.numel() for p in parameters]))

    def buffer(self):
        return self._buffer

    def parameters(self):
        return self._parameters

    def gradients(self):
        return self._gradients

    def is_last(self):
        return self._last


def calls_of(comm, buckets, residuals, density):
    """Returns a function that makes the calls of all buckets and waits for them."""
    verb, start, end = (functions[name] for name in (
        "sparseAllreduce", "sparsecollGroupStart", "sparsecollGroupEnd"))
    wait, handle = functions["sparsecollCommSynchronize"], comm.handle
    groups = [[(g.data_ptr(), g.data_ptr(), g.numel(), max(1, math.ceil(density * g.numel())), 7, 4,
                residuals[p].handle, handle, None) for g, p in zip(b.gradients(), b.parameters())]
              for b in buckets]

    def make():
        result = 0
        for group in groups:
            result = result or start(handle)
            for arguments in group:
                result = result or verb(*arguments)
            result = result or end(handle)
        result = result or wait(handle)
        assert result == 0, comm.last_error

    return make


def measure(options, tensors):
    """Returns the times of each step by way, for buckets of `tensors` tensors."""
    count = options.values // tensors
    buckets = [Bucket([torch.nn.Parameter(torch.zeros(count)) for _ in range(tensors)],
                      i == options.buckets - 1) for i in range(options.buckets)]
    generator = torch.Generator().manual_seed(dist.get_rank())
    data = [torch.randn(len(b.buffer()), generator=generator) for b in buckets]
    hook = st.DDPHook(options.density, dense_below=0, algorithm=options.algorithm)
    residuals = {p: sc.Residual(hook.comm, p) for b in buckets for p in b.parameters()}

    def by_hook():
        for future in [hook(hook.state, bucket) for bucket in buckets]:
            future.wait()

    ways = {"calls": calls_of(hook.comm, buckets, residuals, options.density), "hook": by_hook}
    times = {name: [] for name in ways}
    for repetition in range(-options.warmup, options.repeat):
        # Who comes first takes turns, too: it finds other caches.
        for name in sorted(ways, reverse=repetition % 2 == 1):
            for bucket, values in zip(buckets, data):
                bucket.buffer().copy_(values)
            dist.barrier()
            begin = time.perf_counter()
            ways[name]()
            if repetition >= 0:
                times[name].append(time.perf_counter() - begin)
    hook.destroy()
    return {name: over_ranks(each) for name, each in times.items()}


def main():
    parser = command_line.Parser(description=__doc__)
    parser.add_argument("--buckets", type=int, default=4)
    parser.add_argument("--values", type=int, default=1625000, help="of a bucket, float32; 6.5 MB")
    parser.add_argument("--tensors", type=int, nargs="+", default=[1, 12, 60], help="of a bucket")
    parser.add_argument("--density", type=float, default=0.01)
    parser.add_argument("--algorithm", default="oktopk")
    parser.add_argument("-n", "--repeat", type=int, default=41)
    parser.add_argument("-w", "--warmup", type=int, default=3)
    parser.add_argument("-J", "--json", default="", help="file for rows of JSON")
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    table = Table("hook_cost", [
        ("buckets", "", 7), ("tensors", "(/bucket)", 9), ("size", "(B/bucket)", 10), ("calls min", "(ms)", 9),
        ("median", "(ms)", 8), ("hook min", "(ms)", 9), ("median", "(ms)", 8), ("more", "(% min)", 7),
        ("more", "(% median)", 10)], options.json)
    table.describe()
    table.comment(f"density {options.density}, {options.algorithm}; time of a step: max over ranks, after a "
                  f"barrier; {options.repeat} steps after {options.warmup}, by turns")
    table.comment("calls: the C calls with prepared arguments, and the wait for them; hook: DDPHook, futures")
    table.titles()
    for tensors in options.tensors:
        times = measure(options, tensors)
        size = 4 * (options.values // tensors) * tensors
        fields = {"ranks": dist.get_world_size(), "buckets": options.buckets, "tensors": tensors,
                  "bytes": size, "density": options.density, "algorithm": options.algorithm}
        for name, each in times.items():
            fields.update(summary(name, each))
        more = [100 * (fields[f"hook_{which}_ms"] / fields[f"calls_{which}_ms"] - 1)
                for which in ("min", "median")]
        table.row([str(options.buckets), str(tensors), str(size),
                   *(number(fields[f"{name}_{which}_ms"]) for name in times for which in ("min", "median")),
                   *(f"{each:.1f}" for each in more)], fields)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
