#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Draws every kind of picture from invented records of every program, and checks the files.

usage: test_plot.py [FOLDER]     keeps the pictures in FOLDER; else they are deleted
"""

import json
import math
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MACHINE = {
    "version": "0.1.0", "mpi": "Some MPI 1.0", "host": "node", "host_kind": "Some CPU", "cores": 8,
    "hosts": 1, "placement": "node (ranks 0-3)", "transport": "mpi", "memory": "host",
    "datatype": "float32", "iterations": 20, "warmup": 5, "time_over_ranks": "max",
}
PICTURES = {
    "time_size_dense_mpi", "time_density_dense_mpi", "speedup_dense_mpi",
    f"volume_ranks_dense_mpi_{2**26}_0.01", f"time_ranks_dense_mpi_{2**26}_0.01",
    f"volume_ranks_sparse_simulated_{2**26}_0.01", f"time_ranks_sparse_simulated_{2**26}_0.01",
    "topk_1_threads_float32", "training_accuracy",
    "training_time_8_ranks_5404170_16", "ddp_training_8_ranks_10000000",
    "residual_rule_8_ranks_500", "tune_8_ranks_1000", "tune_8_ranks_50000",
    "push_sum_error_8_ranks_1000_float32", "push_sum_slow_8_ranks_1000",
}


def collective(algorithm, ranks, size, density):
    """Returns a row whose time is that of an alpha-beta model with 1 GB/s and 20 us."""
    n = size // 4
    k = round(density * n)
    sent = {
        "mpi-dense": 8 * n * (ranks - 1) / ranks,
        "mpi-allgather": 8 * k * (ranks - 1),
        "allgather": 6 * k * (ranks - 1),
        "oktopk": 10 * k * (ranks - 1) / ranks,
        "gtopk": 6 * k * math.log2(ranks),
    }
    dense = 20 + sent["mpi-dense"] * 1e-3
    time = 20 * ranks + sent[algorithm] * 1e-3 + (0 if algorithm == "mpi-dense" else n * 1e-3)
    program = "gtopk_allreduce_perf" if algorithm == "gtopk" else "sparse_allreduce_perf"
    return MACHINE | {
        "program": program, "ranks": ranks, "feedback": False, "data": "generated",
        "form": "dense", "op": "sum", "algorithm": algorithm, "algorithm_ran": algorithm,
        "bytes": size, "count": n, "k": k, "density": k / n, "nnz_in": k, "nnz_out": k,
        "time_avg_us": 1.1 * time, "time_min_us": 0.8 * time, "time_median_us": time,
        "time_max_us": 2 * time, "select_us": n * 1e-3, "wire_bytes": sent[algorithm],
        "wire_bytes_is_model": algorithm.startswith("mpi"), "wrong": 0,
        "times_faster_than_dense": dense / time,
    }


def simulated(ranks):
    network = {
        "bits_per_second": 1e9, "latency_us": 50, "overhead_us": 1, "byte_overhead_ns": 0,
        "ranks_per_node": 1, "cores": 0, "compute": False,
    }
    return collective("oktopk", ranks, 2**26, 0.01) | {
        "transport": "simulated", "form": "sparse", "network": network,
    }


def fusion(size):
    """Returns a row of a search for the size of groups, for which there is no picture."""
    return MACHINE | {
        "program": "sparse_allreduce_perf", "ranks": 4, "feedback": True, "data": "generated",
        "form": "fusion", "op": "sum", "algorithm": "oktopk", "density": 0.01, "tensors": 59,
        "count": 269722, "fusion_bytes": size, "groups": 1, "found": False, "wire_bytes": 9e4,
        "time_median_us": 1e4, "wrong": 0,
    }


def tuned():
    """Returns a report of sparsecoll-tune for two lengths, one of which was measured, too."""
    def rows(count, **more):
        return [{"density": density, "k": count * density, "algorithm": "oktopk", "exchangeSeconds": density,
                 "localSeconds": 0.01, "callSeconds": density + 0.01, "denseSeconds": 0.1, "speedUp": 0.1 / density,
                 **more} for density in (0.001, 0.01, 0.1)]

    return {"program": "sparsecoll-tune", "ranks": 8, "dense": {"name": "MPI_Allreduce"},
            "advice": [{"count": 1000, "rows": rows(1000)},
                       {"count": 50000, "rows": rows(50000, measuredSeconds=0.02)}]}


def topk(kind, density, feedback):
    row = MACHINE | {
        "program": "topk_perf", "ranks": 1, "feedback": feedback, "data": "generated",
        "input": kind, "bytes": 2**28, "count": 2**26, "k": round(density * 2**26),
        "density": density, "wrong": 0,
    }
    times = {"time": 30e3, "read": 20e3, "add": 40e3, "copy": 35e3, "nth_element": 500e3}
    for name, time in times.items():
        row |= {f"{name}_{statistic}_us": time for statistic in ("avg", "min", "median", "max")}
    return row


def push_sum(delay, density):
    return MACHINE | {
        "program": "push_sum_perf", "ranks": 8, "experiment": "consensus", "graph": "exponential",
        "max_delay": delay, "bytes": 4000, "count": 1000, "k": round(1000 * density),
        "density": density, "mixing": 0.5, "time_avg_us": 50, "time_median_us": 45,
        "wire_bytes": 4096, "errors": [2.0 ** -step for step in range(1, 40)] + [0.0],
        "seconds": [5e-5] * 40, "wrong": 0,
    }


def slow_rank(method, delay, times):
    return MACHINE | {
        "program": "push_sum_perf", "ranks": 8, "experiment": "slow rank", "method": method,
        "max_delay": delay, "bytes": 4000, "count": 1000, "steps": 60, "work_ms": 10,
        "slow_factor": 3, "step_ms": 12.5 * times, "own_ms": 12.5, "times_own": times,
    }


def training(mode, seed, epoch):
    step_bytes = {"dense": 7e5, "topk": 3e4, "oktopk": 1e4, "gtopk": 1.4e4, "sgp": 5e5}[mode]
    return {
        "program": "train_digits", "mode": mode, "transport": "mpi", "ranks": 4,
        "density": 1.0 if mode in ("dense", "sgp") else 0.01, "seed": seed, "epoch": epoch,
        "loss": 2 * math.exp(-epoch / 4), "seconds": 0.2,
        "accuracy": 0.965 - 0.4 * math.exp(-epoch / 3) + 0.002 * seed,
        "bytes_sent": round(step_bytes * 29 * epoch),
    }


def training_on(network, mode, step):
    """Returns a row of a training with --network and --every."""
    compute, select, wait, rest = 0.3, 0.0 if mode == "dense" else 0.1, 0.2, 0.1
    wait *= {"1gbit": 1, "100mbit": 10}[network] * {"dense": 10, "oktopk": 0.2}[mode]
    second = compute + select + wait + rest
    return training(mode, 1, step) | {
        "network": network, "ranks": 8, "count": 5404170, "batch": 16, "step": step, "epoch": step / 29,
        "elapsed": step * second, "seconds": 10 * second, "compute_seconds": 10 * compute,
        "call_seconds": 10 * (select + wait + rest), "select_seconds": 10 * select,
        "wait_seconds": 10 * wait,
    }


def ddp(network, way, steps, step_ms):
    """Returns a row of ddp_training.py: the loss falls by 0.001 in a step, every tenth is written."""
    return {
        "program": "ddp_training", "way": way, "network": network, "ranks": 8, "count": 10000000, "seed": 1,
        "rate": 0.001, "density": 0.01 if "sparse" in way else 1, "text": "1", "power_rank": 4,
        "warmup": 20 if "sparse" in way else 0, "dense_steps": 10 if way == "powersgd" else 0,
        "step_ms": [step_ms] * steps, "compute_ms": [100, 100], "link_bytes": 1e6,
        "losses": [[step, 3 - 0.001 * step] for step in range(0, steps + 1, 10)],
    }


def ddp_rows():
    for way in ("dense", "powersgd"):
        yield ddp("", way, 300, 500)
    for network, slower in (("1gbit", 1), ("100mbit", 10)):
        yield ddp(network, "dense", 30, 1000 * slower)
        yield ddp(network, "powersgd", 30, 200 * slower) | {"dense_steps": 2}
        yield ddp(network, "sparse", 400, 100 * slower)


def records():
    yield from ddp_rows()
    yield tuned()
    for rule in ("conserving", "paper"):
        yield {"program": "residual_rule", "rule": rule, "ranks": 8, "count": 500, "density": 0.01,
               "lost": [0.01, 0.02, 0.03] if rule == "paper" else [0.0, 1e-16, 0.0]}
    yield from (fusion(size) for size in (0, 2**20))
    for ranks in (2, 4, 8):
        for algorithm in ("oktopk", "allgather", "gtopk", "mpi-dense", "mpi-allgather"):
            for size in (2**20, 2**22, 2**24, 2**26) if ranks == 4 else (2**26,):
                for density in (0.001, 0.01, 0.05) if ranks == 4 else (0.01,):
                    yield collective(algorithm, ranks, size, density)
    yield from (simulated(ranks) for ranks in (4, 32, 1024))
    for kind in ("random", "equal", "sorted", "hot", "two-valued"):
        for density in (0.001, 0.01):
            yield topk(kind, density, False)
            yield topk(kind, density, True)
    for delay in (0, 2, -1):
        for density in (0, 0.1):
            yield push_sum(delay, density)
        yield slow_rank("exponential", str(delay), 1.2)
    yield slow_rank("mpi-dense", "-", 2.4)
    for mode in ("dense", "topk", "oktopk", "gtopk", "sgp"):
        for seed in (1, 2, 3):
            for epoch in range(1, 16):
                yield training(mode, seed, epoch)
    for network in ("1gbit", "100mbit"):
        for mode in ("dense", "oktopk"):
            yield from (training_on(network, mode, step) for step in range(10, 60, 10))


def plot(*words, fails=False):
    done = subprocess.run(
        [sys.executable, HERE / "plot.py", *words], capture_output=True, text=True, timeout=300)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done


def check_epoch_parts():
    """Checks the parts of an epoch of 29 steps, after 50 steps."""
    sys.path.insert(0, str(HERE))
    from plots import training_time
    rows = [training_on("100mbit", "dense", step) for step in range(10, 60, 10)]
    found = training_time.epoch_parts(rows)
    wanted = {"computing": 29 * 0.3, "selection": 0, "waiting for messages": 29 * 20,
              "rest of the calls": 29 * 0.1}
    assert found.keys() == wanted.keys(), found
    assert all(abs(found[key] - wanted[key]) < 1e-9 for key in wanted), found


def check_ddp_times():
    """Checks the time to dense training's loss: after 300 steps of each way."""
    from plots import ddp_times
    curves = ddp_times.curves(list(ddp_rows()))
    found = [(curve.network, curve.way, *map(round, curve.reaches(ddp_times.goal_of(curves)))) for curve in curves]
    assert found == [  # PowerSGD's first ten steps are dense; sparse training has its own times
        ("100mbit", "dense", 300, 3000), ("100mbit", "powersgd", 300, 100 + 290 * 2), ("100mbit", "sparse", 300, 300),
        ("1gbit", "dense", 300, 300), ("1gbit", "powersgd", 300, 10 + 58), ("1gbit", "sparse", 300, 30),
    ], found
    assert [curve.same_losses for curve in curves] == [3, 3, 40] * 2, curves
    worse = [row | {"losses": [[0, 3], [10, 1]]} if row["network"] == "1gbit" and row["way"] == "dense" else row
             for row in ddp_rows()]
    try:
        ddp_times.curves(worse)
    except SystemExit as problem:
        assert "after 10 steps on 100mbit, and of 1 on 1gbit" in str(problem), problem
    else:
        assert False, "a loss that depends on the network was not seen"


def run(folder):
    rows = list(records())
    lines = folder / "lines.json"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    array = folder / "array.json"
    array.write_text(json.dumps(rows))

    plot("all", lines, "--out", folder)
    plot("summary", array, "--out", folder)
    single = folder / "object.json"
    single.write_text(json.dumps(tuned(), indent=2))
    assert plot("tune", single, "--out", folder).stdout.count("tune_8_ranks") == 2
    found = {path.stem for path in folder.glob("*.png")}
    assert PICTURES | {"summary"} <= found, f"missing: {PICTURES | {'summary'} - found}"
    for path in folder.glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG"), path

    plot("summary", array, "--out", folder, "--format", "svg")
    first = (folder / "summary.svg").read_bytes()
    plot("summary", array, "--out", folder, "--format", "svg")
    assert first == (folder / "summary.svg").read_bytes(), "the same records give another picture"

    check_epoch_parts()
    check_ddp_times()
    only = folder / "training.json"
    only.write_text(json.dumps(training("dense", 1, 1)) + "\n")
    assert "nothing to draw" in plot("topk", only, "--out", folder, fails=True).stderr
    (folder / "bad.json").write_text("{")
    assert "bad.json" in plot("all", folder / "bad.json", fails=True).stderr


if len(sys.argv) > 1:
    pathlib.Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    run(pathlib.Path(sys.argv[1]))
else:
    with tempfile.TemporaryDirectory() as name:
        run(pathlib.Path(name))
print("all pictures were drawn")
