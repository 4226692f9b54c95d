#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""test_tune.py ROOT SPARSECOLL_TUNE UCX [LAUNCHER...]: tests of sparsecoll-tune. UCX is ON if the library can send
over UCX. LAUNCHER starts ranks of MPI; the number follows it."""

import json
import math
import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT, PROGRAM, UCX = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "ON"
LAUNCHER = sys.argv[4:]
del sys.argv[1:]
CLEAN = {name: value for name, value in os.environ.items()
         if not re.match(r"SPARSECOLL_|RANK$|WORLD_SIZE$|MASTER_|SLURM_|OMPI_COMM|PMI_", name)}
SMALL = ["-n", "4K,64K", "--density", "0.001,0.01,0.1"]
LOCAL = ["--transport", "local"]
GAMMA = 4e-9  # of the cost model


def call(*arguments, before=(), status=0):
    done = subprocess.run([*before, PROGRAM, *arguments], capture_output=True, text=True, timeout=100,
                          env={**CLEAN, "UCX_LOG_LEVEL": "fatal"}, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done


def ours(*arguments, before=()):
    return json.loads(call(*arguments, "--json", before=before).stdout)


def dense_by_model(ranks, count, latency, rate):
    """The formula of src/collectives/dense.cpp, read again: messages of a reduce-scatter that are under way at the
    same time cost a quarter each, but one at least; then an allgather in ceil(log2 P) steps."""
    steps = math.ceil(math.log2(ranks))
    return (max(1, (ranks - 1) / 4) + steps) * latency + (ranks - 1) / ranks * 2 * count * (4 * 8 / rate + GAMMA / 16)


class Prediction(unittest.TestCase):
    def check(self, found, ranks, counts=(4096, 65536)):
        """Checks what follows from other numbers of the same output."""
        self.assertEqual(found["ranks"], ranks)
        self.assertEqual([advice["count"] for advice in found["advice"]], list(counts))
        for advice in found["advice"]:
            count, rows = advice["count"], advice["rows"]
            self.assertEqual([row["density"] for row in rows], [0.001, 0.01, 0.1])
            pays = []
            for row in rows:
                self.assertEqual(row["k"], max(1, round(row["density"] * count)))
                self.assertIn(row["algorithm"], ("allgather", "oktopk", "hierarchical", "sharded"))
                self.assertGreater(row["exchangeSeconds"], 0)
                self.assertAlmostEqual(row["callSeconds"], row["exchangeSeconds"] + row["localSeconds"])
                self.assertAlmostEqual(row["speedUp"], row["denseSeconds"] / row["callSeconds"])
                pays.append(row["speedUp"] >= 1)
                local = [each for each in found["selection"]
                         if (each["count"], each["density"]) == (count, row["density"])]
                self.assertEqual([each["seconds"] for each in local], [row["localSeconds"]])
            even = advice["breakEvenDensity"]
            self.assertEqual(even is not None, any(pays))
            if pays[-1]:
                self.assertEqual(even, 0.1)
            for row, pay in zip(rows, pays):
                self.assertFalse(pay and row["density"] > even, (row, even))

    def check_measured(self, found, ranks, name):
        self.assertEqual((found["measuredRanks"], found["network"]["source"]), (ranks, "measured"))
        self.assertEqual((found["dense"]["name"], found["dense"]["source"]), (name, "measured"))
        times = {each["count"]: each["seconds"] for each in found["dense"]["times"]}
        for advice in found["advice"]:
            for row in advice["rows"]:
                self.assertAlmostEqual(row["denseSeconds"], times[advice["count"]])

    def test_one_rank(self):
        found = ours(*SMALL, before=LAUNCHER + ["1"] if LAUNCHER else ())
        self.check(found, 8)
        self.assertEqual((found["measuredRanks"], found["network"]["source"]), (1, "assumed"))
        self.assertEqual(found["dense"]["times"], [])
        self.assertIn("has no network to measure", call("-n", "4K", *LOCAL).stdout)

    def test_three_ranks(self):
        found = ours(*SMALL, *LOCAL, "-t", "3")
        self.check(found, 3)
        self.check_measured(found, 3, "the library's dense allreduce")

    @unittest.skipUnless(LAUNCHER, "needs MPI")
    def test_three_ranks_over_mpi(self):
        found = ours(*SMALL, "--reordered", before=[*LAUNCHER, "3"])
        self.check(found, 3)
        self.check_measured(found, 3, "MPI_Allreduce")

    @unittest.skipUnless(UCX, "needs UCX")
    def test_two_ranks_over_ucx(self):
        found = ours(*SMALL, before=[str(ROOT / "perf/launch"), "-n", "2"])
        self.check(found, 2)
        self.assertEqual(found["transport"], "ucx")
        self.check_measured(found, 2, "the library's dense allreduce")

    def test_more_ranks(self):
        found = ours(*SMALL, *LOCAL, "-t", "2", "--ranks", "32")
        self.check(found, 32)
        times = {each["count"]: each["seconds"] for each in found["dense"]["times"]}
        for advice in found["advice"]:  # a rank sends (P - 1) / P of the vector
            self.assertAlmostEqual(advice["rows"][0]["denseSeconds"], times[advice["count"]] * (31 / 32) / (1 / 2))

    def test_another_cluster(self):
        found = ours(*SMALL, *LOCAL, "--ranks", "16", "--rate", "10gbit", "--latency", "20us")
        self.check(found, 16)
        self.assertEqual(found["network"]["source"], "given")
        self.assertAlmostEqual(found["network"]["latencySeconds"], 20e-6)
        self.assertAlmostEqual(found["network"]["bitsPerSecond"] / 1e10, 1)
        for advice in found["advice"]:
            expected = dense_by_model(16, advice["count"], 20e-6, 1e10)
            self.assertAlmostEqual(advice["rows"][0]["denseSeconds"] / expected, 1, places=6)

    def test_check(self):
        found = ours(*SMALL, *LOCAL, "-t", "2", "--check")
        for advice in found["advice"]:
            self.assertGreater(advice["measuredDenseSeconds"], 0)
            self.assertTrue(all(row["measuredSeconds"] > 0 for row in advice["rows"]))
        text = call(*SMALL, *LOCAL, "-t", "2", "--check").stdout
        self.assertRegex(text, r"speed-up  measured  speed-up\n")

    def test_table(self):
        """What does not depend on times of this machine is the same in both forms."""
        options = [*SMALL, *LOCAL, "--ranks", "16", "--rate", "100mbit", "--latency", "1ms"]
        rows = [row for advice in ours(*options)["advice"] for row in advice["rows"]]
        lines = re.findall(r"^ +([\d.]+)% +(\d+)  (\w+) +([\d.]+) +[\d.]+ +[\d.]+ +([\d.]+) +[\d.]+x$",
                           call(*options).stdout, re.MULTILINE)
        self.assertEqual(len(lines), len(rows))
        for (density, k, algorithm, exchange, dense), row in zip(lines, rows):
            self.assertAlmostEqual(float(density) / 100, row["density"])
            self.assertEqual((int(k), algorithm), (row["k"], row["algorithm"]))
            self.assertAlmostEqual(float(exchange) / 1e3 / row["exchangeSeconds"], 1, places=2)
            self.assertAlmostEqual(float(dense) / 1e3 / row["denseSeconds"], 1, places=2)

    def test_last_line(self):
        """The last line of a table agrees with its speed-ups, whatever was measured."""
        text = call(*SMALL, *LOCAL, "--ranks", "16", "--rate", "10gbit", "--latency", "20us").stdout
        tables = re.findall(r"((?:^ .*x\n)+)^  (.*)\n", text, re.MULTILINE)
        self.assertEqual(len(tables), 2)
        for rows, last in tables:
            speed = {float(density): float(faster) for density, faster in
                     re.findall(r"^ +([\d.]+)%.* ([\d.]+)x$", rows, re.MULTILINE)}
            pays = re.match(r"Pays at densities up to ([\d.]+)%", last)
            excepted = re.search(r" except ([\d.%, ]*[\d.]%)", last)
            slower = [float(each.rstrip("%")) for each in excepted[1].split(", ")] if excepted else []
            self.assertTrue(pays or last.startswith("Does not pay"), last)
            for density, faster in speed.items():
                if faster != 1:  # rounded: may be either
                    says = bool(pays) and density <= float(pays[1]) and density not in slower
                    self.assertEqual(says, faster > 1, (density, last, speed))

    def test_slow_links_pay(self):
        """On 10 Mbit/s a hundredth of the entries is sent much faster than the whole vector."""
        fast, slow = (ours(*LOCAL, "-n", "1M", "--density", "0.01", "--ranks", "8", "--latency", "1us", "--rate", rate)
                      for rate in ("1000gbit", "10mbit"))
        self.assertGreater(slow["advice"][0]["rows"][0]["speedUp"], 5)
        self.assertLess(fast["advice"][0]["rows"][0]["speedUp"], slow["advice"][0]["rows"][0]["speedUp"])


class Options(unittest.TestCase):
    def test_help(self):
        self.assertRegex(call("--help").stdout, r"Examples:\n +mpirun -n 8 sparsecoll-tune")

    def test_wrong_options(self):
        for arguments, message in ((["--desity", "0.1"], "there is no option --desity; did you mean --density?"),
                                   (["--count=x"], "--count"), (["--density", "2"], "--density"),
                                   (["--ranks", "1"], "--ranks"), (["--rate", "fast"], "as in 1gbit, got fast"),
                                   (["--transport", "simulated"], "--transport"),
                                   (["--transport", "mpi", "-t", "3"] if LAUNCHER else ["--transport", "ucx", "-t", "3"],
                                    "--nthreads: needs --transport local"),
                                   (["--check", "--ranks", "9"], "--check: needs the cluster that is here")):
            done = call(*arguments, status=2)
            self.assertEqual(done.stdout, "")
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main()
