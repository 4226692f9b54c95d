#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""torch_topk.py [OPTIONS]: measures torch.topk for comparison with `topk_perf --memory device`.

Without feedback: absolute values, torch.topk, gather. With feedback: add the residual to the
gradient, absolute values, torch.topk, gather, zeros at the selected entries. Lengths, densities, data
and JSON rows are those of topk_perf. Prints the reason and exits with 77 if there is no torch or it
has no GPU."""

import argparse
import json
import statistics
import sys

SKIPPED = 77
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
TYPES = ("float32", "float64", "float16", "bfloat16")
COLUMNS = (("count", 10), ("k", 9), ("density", 8), ("type", 8), ("feedback", 8), ("median", 10),
           ("min", 10), ("copy", 8), ("r += g", 8))


def size(text):
    unit = UNITS.get(text[-1:].upper())
    return int(text[:-1]) * unit if unit else int(text)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("-b", "--minbytes", type=size, default=1 << 20)
    parser.add_argument("-e", "--maxbytes", type=size, default=1 << 24)
    parser.add_argument("-f", "--stepfactor", type=float, default=4)
    parser.add_argument("--density", default="0.001,0.01", help="k/n, comma separated")
    parser.add_argument("-d", "--datatype", choices=TYPES, default="float32")
    parser.add_argument("-n", "--iters", type=int, default=20)
    parser.add_argument("-w", "--warmup_iters", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-J", "--output_file", default="")
    options = parser.parse_args()
    if options.minbytes < 1 or options.stepfactor <= 1 or options.iters < 1:
        parser.error("-b and -n are at least 1, -f is above 1")
    return options


def torch_with_gpu():
    """Returns the module, or None and the reason."""
    try:
        import torch  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        return None, f"no torch ({error})"
    if not torch.cuda.is_available():
        return None, f"torch {torch.__version__} sees no GPU"
    return torch, ""


class Bench:
    def __init__(self, torch, options):
        self.torch = torch
        self.options = options
        self.dtype = getattr(torch, options.datatype)
        wide = options.datatype == "float64"
        self.accumulation = torch.float64 if wide else torch.float32
        cache = torch.cuda.get_device_properties(0).L2_cache_size
        self.flood = torch.empty(2 * cache + 1, dtype=torch.uint8, device="cuda")

    def heavy_tailed(self, n, dtype):
        """Fills with |x| = u^(-3/4) like topk_perf, in parts, which are float32 at first."""
        torch = self.torch
        values = torch.empty(n, dtype=dtype, device="cuda")
        for part in values.split(1 << 26):
            draw = torch.rand(part.numel(), device="cuda")
            sign = torch.rand(part.numel(), device="cuda").lt_(0.5).mul_(2).sub_(1)
            part.copy_(draw.clamp_(min=2**-24).pow_(-0.75).clamp_(max=65504).mul_(sign))
        return values

    def measure(self, call):
        """Returns median and minimum in seconds, by events. The cache is overwritten before calls."""
        torch = self.torch
        for _ in range(self.options.warmup_iters):
            call()
        pairs = []
        for _ in range(self.options.iters):
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            self.flood.fill_(1)
            start.record()
            call()
            stop.record()
            pairs.append((start, stop))
        torch.cuda.synchronize()
        seconds = [start.elapsed_time(stop) * 1e-3 for start, stop in pairs]
        return {"median": statistics.median(seconds), "min": min(seconds),
                "avg": statistics.fmean(seconds), "max": max(seconds)}

    def select(self, gradient, k):
        _, index = self.torch.topk(gradient.abs(), k, sorted=False)
        return index, gradient[index]

    def select_with_feedback(self, gradient, residual, k):
        acc = gradient + residual
        _, index = self.torch.topk(acc.abs(), k, sorted=False)
        value = acc[index]
        acc[index] = 0
        return index, value, acc

    def rows(self, n):
        torch = self.torch
        gradient = self.heavy_tailed(n, self.dtype)
        residual = self.heavy_tailed(n, self.accumulation)
        other = torch.empty_like(gradient)
        passes = {"copy": self.measure(lambda: other.copy_(gradient)),
                  "add": self.measure(lambda: residual.add_(gradient))}
        del other
        for density in (float(text) for text in self.options.density.split(",")):
            k = min(n, max(1, round(density * n))) if density > 0 else 0
            if k == 0:
                continue
            for feedback in (False, True):
                call = (lambda: self.select_with_feedback(gradient, residual, k)) if feedback else (
                    lambda: self.select(gradient, k))
                yield self.row(n, k, feedback, {"time": self.measure(call), **passes})

    def row(self, n, k, feedback, times):
        torch = self.torch
        row = {"program": "torch_topk", "version": torch.__version__, "memory": "device",
               "datatype": self.options.datatype, "iterations": self.options.iters,
               "warmup": self.options.warmup_iters, "seed": self.options.seed,
               "device": torch.cuda.get_device_name(0), "cuda_runtime": torch.version.cuda,
               "cold": True, "kernel": "select", "count": n, "k": k, "input": "random",
               "feedback": feedback}
        for name, measured in times.items():
            row.update({f"{name}_{what}_us": value * 1e6 for what, value in measured.items()})
        row["wrong"] = None
        return row


def lengths(options, element):
    size_now, last = float(options.minbytes), 0
    while size_now <= options.maxbytes:
        n = int(size_now) // element
        if n > last:
            yield n
            last = n
        size_now *= options.stepfactor


def line(cells):
    return " ".join(f"{cell:>{width}}" for cell, (_, width) in zip(cells, COLUMNS))


def cells_of(row):
    time = row["time_median_us"]
    return [str(row["count"]), str(row["k"]), f"{row['k'] / row['count']:.3g}", row["datatype"],
            str(int(row["feedback"])), f"{time:.1f}", f"{row['time_min_us']:.1f}",
            f"{time / row['copy_median_us']:.2f}", f"{time / row['add_median_us']:.2f}"]


def main():
    options = arguments()
    torch, reason = torch_with_gpu()
    if torch is None:
        print(f"SKIPPED: {reason}")
        return SKIPPED
    torch.manual_seed(options.seed)
    bench = Bench(torch, options)
    print(f"# torch.topk, torch {torch.__version__}, {torch.cuda.get_device_name(0)}")
    print("# times in us; copy, r += g: the median over the median of that pass")
    print("#" + line([name for name, _ in COLUMNS])[1:], flush=True)
    with open(options.output_file or "/dev/null", "w", encoding="utf-8") as file:
        for n in lengths(options, bench.dtype.itemsize):
            try:
                for row in bench.rows(n):
                    print(line(cells_of(row)), flush=True)
                    print(json.dumps(row), file=file, flush=True)
            except torch.cuda.OutOfMemoryError as error:
                print(f"# n = {n}: {str(error).splitlines()[0]}", flush=True)
            torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
