#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Measures what DDPHook adds to the C calls that it makes. For example:

    PYTHONPATH=src/python python3 -m sparsecoll.torch.launch -n 2 perf/torch/hook_cost.py

`calls` measures a group of the same calls, with arguments that were prepared before, and the wait
for it. `hook` measures the hook with a bucket of the same tensors, up to the end of its future.
Both run in turn, in the same processes. Each line is one bucket in JSON: minimum and median of the
repetitions in ms.
"""

import json
import pathlib
import statistics
import sys
import time

import torch
import torch.distributed as dist

import sparsecoll as sc
import sparsecoll.torch as st
from sparsecoll._library import functions

# Makes the modules of perf/ importable from any current folder.
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from plots import options as command_line  # noqa: E402


class Bucket:
    """A stand-in for GradBucket, with the part that the hook uses."""

    def __init__(self, parameters):
        self._parameters = parameters
        self._buffer = torch.zeros(sum(p.numel() for p in parameters))
        self._gradients = list(self._buffer.split([p.numel() for p in parameters]))

    def buffer(self):
        return self._buffer

    def parameters(self):
        return self._parameters

    def gradients(self):
        return self._gradients

    def is_last(self):
        return True


def calls_of(comm, bucket, residuals, density):
    """Returns a function that makes the calls of a bucket and waits for them."""
    verb, start, end = (functions[name] for name in (
        "sparseAllreduce", "sparsecollGroupStart", "sparsecollGroupEnd"))
    wait, handle = functions["sparsecollCommSynchronize"], comm.handle
    arguments = [(g.data_ptr(), g.data_ptr(), g.numel(), int(density * g.numel()), 7, 4, r.handle,
                  handle, None) for g, r in zip(bucket.gradients(), residuals)]

    def make():
        result = start(handle)
        for each in arguments:
            result = result or verb(*each)
        result = result or end(handle) or wait(handle)
        assert result == 0, comm.last_error

    return make


def measure(options, tensors):
    """Measures buckets of `tensors` tensors."""
    count = options.values // tensors
    bucket = Bucket([torch.nn.Parameter(torch.zeros(count)) for _ in range(tensors)])
    data = torch.randn(len(bucket.buffer()), generator=torch.Generator().manual_seed(dist.get_rank()))
    hook = st.DDPHook(options.density, dense_below=0, algorithm="oktopk")
    residuals = [sc.Residual(hook.comm, p) for p in bucket.parameters()]
    ways = {"calls": calls_of(hook.comm, bucket, residuals, options.density),
            "hook": lambda: hook(hook.state, bucket).wait()}
    times = {name: [] for name in ways}
    for _ in range(options.repeat + 2):
        for name, way in ways.items():
            bucket.buffer().copy_(data)
            dist.barrier()
            begin = time.perf_counter()
            way()
            times[name].append(1000 * (time.perf_counter() - begin))
    hook.destroy()
    report = {"tensors": tensors, "values": count * tensors, "density": options.density}
    for name, all_times in times.items():
        kept = all_times[2:]
        report[f"{name}_min_ms"] = round(min(kept), 3)
        report[f"{name}_median_ms"] = round(statistics.median(kept), 3)
    report["more_min_percent"] = round(
        100 * (report["hook_min_ms"] / report["calls_min_ms"] - 1), 1)
    report["more_median_percent"] = round(
        100 * (report["hook_median_ms"] / report["calls_median_ms"] - 1), 1)
    if dist.get_rank() == 0:
        print(json.dumps(report), flush=True)


def main():
    parser = command_line.Parser(description=__doc__)
    parser.add_argument("--values", type=int, default=3150000, help="of a bucket; 12.6 MB")
    parser.add_argument("--tensors", type=int, nargs="+", default=[1, 12, 60])
    parser.add_argument("--density", type=float, default=0.01)
    parser.add_argument("--repeat", type=int, default=20)
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for tensors in options.tensors:
        measure(options, tensors)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
