# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the programs' JSON and selects rows."""

import json
import pathlib

COLLECTIVES = ("sparse_allreduce_perf", "gtopk_allreduce_perf", "sparse_alltoall_perf")


def load(paths):
    """Returns the objects of all files. A file is one array, one object, or has one object per line."""
    rows = []
    for path in paths:
        text = pathlib.Path(path).read_text(encoding="utf-8")
        try:
            rows += parse(text)
        except json.JSONDecodeError as error:
            raise SystemExit(f"{path}: {error}") from error
    return rows


def parse(text):
    if text.lstrip().startswith("["):
        return json.loads(text)
    if text.startswith("{\n"):  # one object in many lines
        return [json.loads(text)]
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def collectives(rows):
    """Returns the rows of single calls, without those of searches for the size of groups."""
    calls = [row for row in rows if row.get("program") in COLLECTIVES]
    return [{"wire": "native"} | row for row in calls if row["form"] != "fusion"]


def topk(rows):
    """Returns the rows of the host. A device has other baselines."""
    calls = [row for row in rows if row.get("program") == "topk_perf"]
    return [row for row in calls if row.get("memory") != "device"]


def push_sum(rows):
    return [row for row in rows if row.get("program") == "push_sum_perf"]


def tuning(rows):
    return [row for row in rows if row.get("program") == "sparsecoll-tune"]


def residual_rule(rows):
    return [row for row in rows if row.get("program") == "residual_rule"]


def ddp_training(rows):
    return [row for row in rows if row.get("program") == "ddp_training"]


def training(rows):
    """Returns the rows without those of slow networks, which have pictures of their own."""
    return [row for row in rows if row.get("program") == "train_digits" and "network" not in row]


def training_on_networks(rows):
    """Returns the rows that name their network."""
    return [row for row in rows if row.get("program") == "train_digits" and "network" in row]


def values(rows, key):
    """Returns the distinct values of a key, sorted."""
    return sorted({row[key] for row in rows})


def where(rows, **wanted):
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def groups(rows, *keys):
    """Returns pairs (values of the keys, rows with these values), sorted."""
    found = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in keys), []).append(row)
    return sorted(found.items(), key=lambda item: tuple(str(value) for value in item[0]))


def nearest_densities(rows):
    """Returns the rows with 'density' rounded, so that it is the same for all n."""
    return [dict(row, density=float(f"{row['density']:.2g}")) for row in rows]


def median(numbers):
    ordered = sorted(numbers)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
