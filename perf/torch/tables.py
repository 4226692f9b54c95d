# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""The tables and JSON rows of the programs in this folder, in the shape of those in C++."""

import json
import os
import platform
import statistics

import torch
import torch.distributed as dist

from sparsecoll._library import version


class Table:
    """Prints on rank 0: comments, titles, rows. Writes rows of JSON to a file, if it has a name."""

    def __init__(self, program, columns, json_name=""):
        self._program = program
        self._columns = columns  # (title, unit, width) each
        self._printing = dist.get_rank() == 0
        self._json = open(json_name, "w", encoding="utf-8") if json_name and self._printing else None

    def comment(self, text=""):
        if self._printing:
            print(f"# {text}".rstrip(), flush=True)

    def describe(self):
        """Prints what runs where. Collective."""
        number = version()
        name = f"{number // 10000}.{number // 100 % 100}.{number % 100}"
        hosts = [None] * dist.get_world_size()
        dist.all_gather_object(hosts, platform.node())
        self.comment(f"{self._program}  sparsecoll {name}  torch {torch.__version__}  "
                     f"Python {platform.python_version()}")
        self.comment(f"{len(hosts)} ranks on {len(set(hosts))} hosts, {os.cpu_count()} cores a host; "
                     f"{dist.get_backend()}; {torch.get_num_threads()} threads of torch a rank")

    def titles(self):
        self.comment()
        for which in (0, 1):
            if self._printing:
                print("#" + self._line([column[which] for column in self._columns])[1:], flush=True)

    def row(self, cells, fields):
        """Prints a row, and writes its fields as JSON."""
        if self._printing:
            print(self._line(cells), flush=True)
        if self._json:
            self._json.write(json.dumps({"program": self._program, **fields}) + "\n")
            self._json.flush()

    def _line(self, cells):
        return "".join(f" {cell:>{column[2]}}" for cell, column in zip(cells, self._columns))


def number(value):
    """Returns a number with three digits or more."""
    size = abs(value)
    return f"{value:.{0 if size >= 100 or size == 0 else 1 if size >= 10 else 2 if size >= 1 else 3}f}"


def over_ranks(values, op=dist.ReduceOp.MAX):
    """Reduces numbers over the ranks: by default the times of the slowest. Collective."""
    tensor = torch.tensor(values, dtype=torch.float64)
    dist.all_reduce(tensor, op=op)
    return tensor.tolist()


def summary(name, seconds):
    """Returns the least and the median time in ms, as fields of JSON."""
    return {f"{name}_min_ms": round(1000 * min(seconds), 3),
            f"{name}_median_ms": round(1000 * statistics.median(seconds), 3)}
