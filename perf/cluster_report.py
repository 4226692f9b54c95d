#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""cluster_report.py DIR: prints the measurements of perf/cluster.sh as Markdown.

Reads DIR/jobs.jsonl and the rows DIR/JOB.json of each job. Both sides of a ratio are from the same run.
A target is met if the ratio of the medians meets it. Jobs that were not run are left out.
"""

import json
import pathlib
import sys

import cluster_training
from cluster_ratios import CODED, NONE, Job, digits, ms, nominal, pair, ratios, table, verdict


def load(folder):
    entries = [json.loads(line) for line in (folder / "jobs.jsonl").read_text().splitlines()]
    jobs = {}
    for entry in entries[1:]:
        path = folder / f"{entry['job']}.json"
        lines = path.read_text().splitlines() if path.exists() else []
        jobs[entry["job"]] = Job(entry, [json.loads(line) for line in lines])
    return entries[0], jobs


def other_runs(machine, jobs):
    """Returns the names of the jobs of other runs, by commit and date."""
    others = {}
    for name, job in jobs.items():
        run = tuple(job.entry.get(key, machine[key]) for key in ("commit", "date"))
        if run != (machine["commit"], machine["date"]):
            others.setdefault(", ".join(run), []).append(name)
    return others


def memory(jobs):
    if "alltoall_memory" not in jobs:
        return
    lines = []
    for row in jobs["alltoall_memory"].rows:
        other = jobs["alltoall_memory"].row("mpi-alltoallv", nominal(row))
        if row["algorithm"] != "alltoall" or other is None:
            continue
        best = row["time_min_us"] / other["time_min_us"]
        median = row["time_median_us"] / other["time_median_us"]
        lines.append([f"all-to-all, {nominal(row):.1%}, {row['ranks']} ranks", "<= 1.2x mpi-alltoallv",
                      f"{best:.2f} / {median:.2f}", pair(row), pair(other),
                      verdict(median, 1.2, below=True)])
    print("## In shared memory\n")
    table(["what", "target", "reached, min / median", "ours (ms)", "beside (ms)", "met"], lines)


def bytes_sent(jobs):
    targets = {("exchange", 0.001): 12.0, ("exchange", 0.01): 10.6,
               ("exchange_bf16", 0.001): 8.0, ("exchange_bf16", 0.01): 6.8,
               ("exchange_int8", 0.001): 5.2, ("exchange_int8", 0.01): 4.2}
    lines = []
    for (name, density), target in targets.items():
        row = jobs[name].row("oktopk", density) if name in jobs else None
        if row:
            sent = row["wire_bytes_per_entry"]
            values = {"bf16": "bfloat16", "int8": "8 bits"}.get(row.get("wire"), row["datatype"])
            lines.append([f"{values}, {density:.1%}", f"<= {target}", f"{sent:.2f}",
                          verdict(sent, target, below=True)])
    row = jobs["exchange"].row("auto", 0.01) if "exchange" in jobs else None
    if row:
        share = jobs["exchange"].line_ms(row["wire_bytes"]) / ms(row, "min")
        lines.append(["share of the line rate, 1%, best call of auto", ">= 80%", f"{share:.0%}",
                      verdict(share, 0.8)])
    if lines:
        print("## Bytes sent by the busiest rank, oktopk, over k (P-1)/P, and the share of the line rate\n")
        table(["what", "target", "measured", "met"], lines)


def where_time_goes(jobs):
    lines = []
    for name, job in jobs.items():
        for row in job.rows:
            if row.get("algorithm") not in ("auto", "oktopk-reuse", "gtopk", "alltoall", "allgather"):
                continue
            if job.mbit is None or name.startswith("ranks_") or "select_us" not in row:
                continue
            parts = [digits(row[f"{part}_us"] / 1e3)
                     for part in ("select", "pack", "exchange", "reduce")]
            ran = row["algorithm_ran"]
            lines.append([name, f"{nominal(row):.3g}",
                          row["algorithm"] + ("" if ran == row["algorithm"] else f" ({ran})"),
                          pair(row), *parts, str(row.get("messages", NONE)),
                          digits(job.line_ms(row["wire_bytes"]))])
    if lines:
        print("## Where the time goes\n")
        print("Of the last call, each part of the slowest rank, in ms: selection; to and from the wire "
              "format; waiting for messages; merging and the result. Ranks share the cores, so that "
              "waiting is also waiting for ranks that compute.\n")
        table(["job", "density", "algorithm", "time, min / median", "select", "pack", "wait", "reduce",
               "messages", "sent, at line rate"], lines)


def gossip(jobs):
    if "push_sum" not in jobs:
        return
    lines = []
    for row in jobs["push_sum"].rows:
        target = row["method"] == "exponential" and row["max_delay"] == "2"
        lines.append([f"{row['method']}, maxDelay {row['max_delay']}", f"{row['times_own']:.3f}",
                      "<= 1.25" if target else NONE,
                      verdict(row["times_own"], 1.25, below=True) if target else NONE])
    row = jobs["push_sum"].rows[0]
    print(f"## Push-sum with a slow rank\n\nMean step over a rank's own mean work; 1 = nobody waits. "
          f"{row['ranks']} nodes, {row['steps']} steps of {row['work_ms']} ms, "
          f"{row['slow_factor']} times as long on a random rank.\n")
    table(["method", "measured", "target", "met"], lines)


def ranks(jobs):
    lines = []
    for name, job in jobs.items():
        if name.startswith("ranks_"):
            cells = [f"{pair(row)}" if (row := job.row(algorithm)) else NONE
                     for algorithm in ("gtopk", "oktopk", "allgather", "mpi-allgather")]
            lines.append([name.removeprefix("ranks_"), *cells])
    if lines:
        print("## Time against the number of nodes\n\nExchange alone, 2^20 values, 1%, 100 Mbit/s; "
              "min / median in ms.\n")
        table(["nodes", "gtopk", "oktopk", "allgather", "mpi-allgather"], lines)


def tensors(jobs):
    lines = []
    for name, job in jobs.items():
        if name.startswith("tensors_") and job.rows:
            best = {row["fusion_bytes"] for row in job.rows if row["found"]}
            for row in sorted(job.rows, key=lambda row: row["groups"], reverse=True):
                if not row["found"]:  # this row repeats another one
                    lines.append([name.removeprefix("tensors_"), str(row["groups"]), pair(row),
                                  digits(row["times_faster_than_alone"]),
                                  "yes" if row["fusion_bytes"] in best else ""])
    if lines:
        print("## Tensors in groups\n\nResNet-50's 161 tensors of 25,557,032 values, 0.1% of each, selection "
              "and all; min / median in ms; faster than each by itself, by medians.\n")
        table(["links", "groups a step", "time", "faster", "least"], lines)


def links(jobs):
    lines = []
    for name in ("links_1gbit", "links_100mbit"):
        for row in jobs[name].rows if name in jobs else []:
            lines.append([f"{row['ranks']} nodes, {row['asked_mbit']:.0f} Mbit/s", row["pattern"],
                          str(row["bytes"]),
                          f"{digits(row['time_min_us'])} / {digits(row['time_median_us'])}",
                          f"{digits(row['rate_mbit'])} / {digits(row['rate_median_mbit'])}"])
    if lines:
        print("## The links themselves\n\nMPI's plain messages, payload. Short ones pass a bucket that is "
              "full; a ring keeps every link busy in both directions, and the cores with them.\n")
        table(["links", "pattern", "bytes", "us, min / median", "Mbit/s, best / median"], lines)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    machine, jobs = load(pathlib.Path(sys.argv[1]))
    if not jobs:
        sys.exit("cluster_report.py: no jobs")
    quick = any(job.entry["quick"] for job in jobs.values())
    print("# Emulated networks, measured\n")
    print(", ".join(f"{key} {value}" for key, value in machine.items()) + ".\n")
    if quick:
        print("A quick run on small vectors: the targets are for vectors 16 times as long.\n")
    for run, names in other_runs(machine, jobs).items():
        print(f"Measured at {run}: {', '.join(names)}.\n")
    bad = [job.entry["job"] for job in jobs.values() if job.entry["status"] != 0]
    if bad:
        print(f"Failed: {', '.join(bad)}.\n")
    dense = jobs["dense_32"].row("mpi-dense") if "dense_32" in jobs else None
    if any(not name.startswith(("train_", "tensors_")) for name in jobs):
        print("## Targets that are ratios\n")
        print("Times are min / median in ms. `auto` takes the algorithm itself. Coded: the entries that "
              f"have to travel at {CODED} bytes each. Sent: the bytes of the busiest rank.\n")
        ratios(jobs)
    for name in ("links_1gbit", "links_100mbit"):
        rows = [row for row in jobs[name].rows if row["pattern"] == "ring"] if name in jobs else []
        if rows:
            row = max(rows, key=lambda row: row["bytes"])
            print(f"All {row['ranks']} links of {row['asked_mbit']:.0f} Mbit/s busy in both directions "
                  f"carry {digits(row['rate_mbit'])} Mbit/s each, best call, median "
                  f"{digits(row['rate_median_mbit'])}: what the cores have for them.\n")
    if dense:
        print(f"MPI_Allreduce of the whole vector on the 32 nodes: {pair(dense)} ms.\n")
    for part in (bytes_sent, memory, gossip, where_time_goes, ranks, tensors, links):
        part(jobs)
    cluster_training.report(jobs, table)


if __name__ == "__main__":
    main()
