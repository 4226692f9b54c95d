#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""test_info.py ROOT SPARSECOLL_INFO [LAUNCHER...]: tests of sparsecoll-info, and by its output that the table
of docs/environment.md says what the code does. LAUNCHER starts ranks of MPI; the number follows it."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT, PROGRAM = pathlib.Path(sys.argv[1]), sys.argv[2]
LAUNCHER = sys.argv[3:]
del sys.argv[1:]
CLEAN = {name: value for name, value in os.environ.items()
         if not re.match(r"SPARSECOLL_|RANK$|WORLD_SIZE$|MASTER_|SLURM_|OMPI_COMM|PMI_", name)}
READ = re.compile(r"\b(?:environment|chosen_\w+(?:<\w+>)?|replace)\((?:&\w+::\w+,)?\s*\"(SPARSECOLL_\w+)\"|kVariable = \"(SPARSECOLL_\w+)\"")


def call(*arguments, before=(), **variables):
    return subprocess.run([*before, PROGRAM, *arguments], capture_output=True, text=True, timeout=120,
                          env={**CLEAN, **variables}, check=False)


def report(status=0, **variables):
    done = call("--json", **variables)
    assert done.returncode == status, done.stdout + done.stderr
    return json.loads(done.stdout)


def by_name(items):
    return {item["name"]: item for item in items}


class Report(unittest.TestCase):
    def test_version(self):
        project = re.search(r"VERSION (\d+\.\d+\.\d+)", (ROOT / "CMakeLists.txt").read_text())[1]
        self.assertEqual(call("--version").stdout, project + "\n")
        self.assertEqual(report()["version"], project)

    def test_build(self):
        found = report()
        transports = by_name(found["transports"])
        self.assertEqual(list(transports), ["threads", "mpi", "ucx", "nccl"])
        self.assertIn("CXX", found["build"]["compilers"])
        for name in ("mpi", "ucx", "nccl"):
            built = found["build"]["options"][f"SPARSECOLL_{name.upper()}"] == "ON"
            self.assertEqual(transports[name]["built"], built)
            self.assertNotEqual("version" in transports[name], "problem" in transports[name])
        self.assertEqual(bool(LAUNCHER), transports["mpi"]["built"])

    def test_this_process(self):
        found = report()
        cpus = len(os.sched_getaffinity(0))
        self.assertEqual(found["processors"]["count"], cpus)
        self.assertEqual(found["processors"]["threads"], cpus)
        self.assertIn("portable", found["instructions"]["available"])
        self.assertIn(found["instructions"]["inUse"], found["instructions"]["available"])

    def test_bound_to_a_cpu(self):
        one = str(min(os.sched_getaffinity(0)))
        done = call("--json", before=["taskset", "-c", one])
        processors = json.loads(done.stdout)["processors"]
        self.assertEqual((processors["cpus"], processors["threads"]), (one, 1))

    def test_values(self):
        found = report(SPARSECOLL_SIMD="portable", SPARSECOLL_THREADS="3", SPARSECOLL_BIND="0")
        self.assertEqual(found["instructions"]["inUse"], "portable")
        self.assertEqual(found["processors"]["threads"], 3)
        self.assertFalse(found["processors"]["threadsAreBound"])
        variables = by_name(found["variables"])
        threads, algorithm = variables["SPARSECOLL_THREADS"], variables["SPARSECOLL_ALGO"]
        self.assertEqual((threads["value"], threads["source"]), ("3", "environment"))
        self.assertEqual((algorithm["value"], algorithm["source"]), (None, "default"))

    def test_bad_values(self):
        found = report(1, SPARSECOLL_ALGO="fast", SPARSECOLL_THREADS="0", SPARSECOLL_TOPOLOGY="/no/file")
        variables = by_name(found["variables"])
        self.assertIn("expected one of auto, ", variables["SPARSECOLL_ALGO"]["problem"])
        self.assertIn("1 to 1024; got '0'", variables["SPARSECOLL_THREADS"]["problem"])
        self.assertNotIn("problem", variables["SPARSECOLL_WIRE"])
        self.assertTrue(found["problem"].startswith("SPARSECOLL_ALGO: "))
        found = report(1, SPARSECOLL_TOPOLOGY="/no/file")
        self.assertIn("/no/file", by_name(found["variables"])["SPARSECOLL_TOPOLOGY"]["problem"])
        done = call(SPARSECOLL_ALGO="fast")
        self.assertEqual(done.returncode, 1)
        self.assertIn("An init fails with these variables: SPARSECOLL_ALGO: expected", done.stdout)

    def test_timeline(self):
        """The name is no text, and no file is written."""
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([PROGRAM, "--json"], capture_output=True, timeout=120, check=True, cwd=folder,
                                  env={**{n.encode(): v.encode() for n, v in CLEAN.items()},
                                       b"SPARSECOLL_TIMELINE": b"t\xff.json"})
            self.assertEqual(os.listdir(folder), [])
        self.assertEqual(by_name(json.loads(done.stdout)["variables"])["SPARSECOLL_TIMELINE"]["value"], "t\ufffd.json")

    def test_topology(self):
        self.assertEqual(report()["topology"]["source"], "hwloc")
        slurm = report(SLURM_TOPOLOGY_ADDR="s0.n1", SLURM_TOPOLOGY_ADDR_PATTERN="switch.node")["topology"]
        self.assertEqual((slurm["source"], slurm["address"]), ("slurm", "s0.n1"))
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            rack = {"name": "rack", "rate": "100Mbit/s", "latency": "50us", "groups": [{"ranks": "0-3"}, {"ranks": "4-7"}]}
            json.dump({"levels": [rack, {"groups": [{"ranks": "0-7"}]}]}, file)
            file.flush()
            found = report(SPARSECOLL_TOPOLOGY=file.name)["topology"]
            text = call(SPARSECOLL_TOPOLOGY=file.name).stdout
        self.assertEqual([(level["name"], level["groups"]) for level in found["levels"]], [("rack", 2), ("", 1)])
        self.assertAlmostEqual(found["levels"][0]["bitsPerSecond"], 1e8)
        self.assertAlmostEqual(found["levels"][0]["latencySeconds"], 5e-5)
        self.assertEqual([found["levels"][1][key] for key in ("bitsPerSecond", "latencySeconds")], [None, None])
        self.assertRegex(text, r"level 1 +rack: 2 groups, 100 Mbit/s, 50 us\n +level 2 +1 groups, no rate\n")

    def test_wrong_options(self):
        for arguments, message in ((["--jsn"], "there is no option --jsn; did you mean --json?"), (["x"], "there is no option x\n"),
                                   (["--ranks", "--transport"], "expected mpi or ucx, got ''"),
                                   (["--ranks", "--transport", "tcp"], "expected mpi or ucx, got 'tcp'"),
                                   (["--transport", "mpi"], "expected --ranks beside it")):
            done = call(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(message, done.stderr)
            self.assertIn("usage: sparsecoll-info", done.stderr)
        self.assertIn("usage: sparsecoll-info", call("--help").stdout)


class Page(unittest.TestCase):
    """docs/environment.md, the program and the sources."""

    def rows(self):
        text = (ROOT / "docs/environment.md").read_text()
        for line in text.splitlines():
            if line.startswith("| `SPARSECOLL_"):
                plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line).replace("`", "")
                yield [cell.strip() for cell in plain.strip("|").split("|")]

    def test_table(self):
        expected = [[v["name"], v["values"], v["default"], v["overrides"], "yes" if v["ranksMustAgree"] else "no"]
                    for v in report()["variables"]]
        self.assertEqual(list(self.rows()), expected)

    def test_sources(self):
        read = set()
        for path in (ROOT / "src").rglob("*.[ch]pp"):
            read.update(a or b for a, b in READ.findall(path.read_text()))
        self.assertEqual(read, {v["name"] for v in report()["variables"]})


class Ranks(unittest.TestCase):
    def setUp(self):
        transports = by_name(report()["transports"])
        self.launchers = []
        if "version" in transports["ucx"]:
            self.launchers.append((ROOT / "perf/launch", "-n", "3"))
        if LAUNCHER:
            self.launchers.append((*LAUNCHER, "3"))
        if not self.launchers:
            self.skipTest("neither MPI nor UCX")

    def ranks(self, launcher, *arguments, rank_1="", **variables):
        """Runs three ranks; rank 1 has the variables of `rank_1`."""
        one = 'if [ "${RANK:-${OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" = 1 ]; then exec env ' + rank_1 + ' "$@"; fi; exec "$@"'
        return call("--ranks", *arguments, before=[*launcher, "bash", "-c", one, "bash"], **variables)

    def test_they_can(self):
        for launcher in self.launchers:
            done = self.ranks(launcher)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(re.findall(r"^rank \d", done.stdout, re.MULTILINE), ["rank 0", "rank 1", "rank 2"])
            self.assertTrue(done.stdout.endswith("\nthese ranks can work together\n"))
            found = json.loads(self.ranks(launcher, "--json").stdout)
            self.assertEqual([r["rank"] for r in found["ranks"]], [0, 1, 2])
            self.assertEqual((found["canWorkTogether"], found["disagree"]), (True, {}))
            self.assertEqual(found["ranks"][2]["attempt"]["levels"], [{"group": 0, "groups": 1, "ranks": 3}])

    def test_settings_differ(self):
        for launcher in self.launchers:
            done = self.ranks(launcher, rank_1="SPARSECOLL_ALGO=dense SPARSECOLL_RANKS_PER_NODE=2")
            self.assertEqual(done.returncode, 1)
            self.assertIn("algorithm (SPARSECOLL_ALGO): 0 (auto) on ranks 0,2\n", done.stdout)
            self.assertIn("algorithm (SPARSECOLL_ALGO): 5 (dense) on rank 1\n", done.stdout)
            self.assertIn("SPARSECOLL_RANKS_PER_NODE: 2 on rank 1\n", done.stdout)
            self.assertRegex(done.stdout, r"\nthese ranks cannot work together: rank 0: .*ranks disagree on algorithm")
            found = json.loads(self.ranks(launcher, "--json", rank_1="SPARSECOLL_CHECK=0").stdout)
            self.assertEqual(found["disagree"], {"SPARSECOLL_CHECK": {"1": [0, 2], "0": [1]}})

    def test_a_bad_value(self):
        for launcher in self.launchers:
            done = self.ranks(launcher, rank_1="SPARSECOLL_WIRE=fp8")
            self.assertEqual(done.returncode, 1)
            self.assertIn("cannot work together: rank 1: SPARSECOLL_WIRE: expected one of native, bf16, int8; got 'fp8'",
                          done.stdout)

    def test_settings_that_may_differ(self):
        for launcher in self.launchers:
            self.assertEqual(self.ranks(launcher, rank_1="SPARSECOLL_SIMD=portable").returncode, 0)

    def test_files(self):
        for launcher in self.launchers:
            with tempfile.TemporaryDirectory() as folder:
                self.ranks(launcher, SPARSECOLL_TIMELINE=f"{folder}/t", SPARSECOLL_FLIGHT_RECORDER=f"{folder}/f",
                           rank_1="SPARSECOLL_ALGO=dense")
                self.assertEqual(os.listdir(folder), [])

    @unittest.skipUnless(LAUNCHER, "no MPI")
    def test_worlds_of_their_own(self):
        done = call("--ranks", "--transport", "mpi", SLURM_NTASKS="4")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("MPI has one rank here, but SLURM_NTASKS is 4", done.stdout)

    @unittest.skipUnless(LAUNCHER, "no MPI")
    def test_over_ucx_by_mpi(self):
        if len(self.launchers) < 2:
            self.skipTest("no UCX")
        done = self.ranks(self.launchers[1], "--transport", "ucx")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("  ucx 1.", done.stdout)

    @unittest.skipIf(LAUNCHER, "MPI")
    def test_no_launcher(self):
        done = call("--ranks")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no launcher has set RANK", done.stderr)


if __name__ == "__main__":
    unittest.main()
