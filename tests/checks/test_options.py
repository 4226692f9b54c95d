#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""test_options.py ROOT [PROGRAM...]: every program and script prints help with examples, and refuses an option that
it does not have with the nearest one. PROGRAM: those of perf/ and tools/ that were built."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(sys.argv[1])
PROGRAMS = {pathlib.Path(path).name: path for path in sys.argv[2:]}
del sys.argv[1:]
# For each program an option that it does not have, and the one that is near.
WRONG = {
    "sparse_allreduce_perf": ("--desity", "--density"), "gtopk_allreduce_perf": ("--overlp", "--overlap"),
    "sparse_alltoall_perf": ("--skw=2", "--skew"), "push_sum_perf": ("--dealy", "--delay"),
    "topk_perf": ("--thread", "--threads"), "link_perf": ("--byts", "--bytes"),
    "sparsecoll-info": ("--jason", "--json"), "sparsecoll-tune": ("--cuont", "--count"),
}
SCRIPTS = {
    "perf/run.sh": ("--rank", "--ranks"), "perf/scaling.sh": ("--mots", "--most"), "perf/cluster.sh": ("--onyl", "--only"),
    "perf/netlab run": ("--node", "--nodes"), "perf/gpu.sh build": ("--job", "--jobs"), "perf/launch": ("-N", "-n"),
    "perf/device/run.sh": ("--quik", "--quick"), "tests/run.sh": ("--qick", "--quick"),
    "perf/timeline.py": ("--lits", "--list"), "perf/residual_rule.py": ("--rnaks", "--ranks"), "perf/tune": ("--hepl", "--help"), "perf/validate": ("--porgrams", "--programs"),
    "perf/soak": ("--secnds", "--seconds"), "perf/starve": ("--rtae", "--rate"), "perf/torch/ddp_report.py": ("--hepl", "--help"),
    "perf/torch/ddp_training.sh": ("--lits", "--list"),
}
NOT_RUN = {"perf/plot.py",  # needs matplotlib
           "perf/torch/ddp_training.py", "perf/torch/hook_cost.py",  # need torch
           "perf/torch/sparse_gradients_perf.py",
           "perf/device/torch_topk.py"}  # is copied without its neighbours


def call(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})


class CommandLines(unittest.TestCase):
    def check(self, command, wrong, nearest, name):
        given = wrong.split("=")[0]
        done = call(*command, wrong)
        self.assertEqual((done.returncode, done.stdout), (2, ""), command)
        self.assertIn(f"there is no option {given}; did you mean {nearest}?", done.stderr)
        done = call(*command, "--nothing-like-it")
        self.assertEqual(done.returncode, 2, command)
        self.assertRegex(done.stderr, r"there is no option --nothing-like-it(\n|$)" if name != "perf/launch" else "usage")
        done = call(*command, "--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""), command)
        self.assertRegex(done.stdout, re.compile("example", re.IGNORECASE))

    @unittest.skipUnless(PROGRAMS, "none was built")
    def test_programs(self):
        for name, path in PROGRAMS.items():
            if name == "verbs_perf":
                continue
            with self.subTest(name):
                self.check([path], *WRONG[name], name)

    @unittest.skipUnless("verbs_perf" in PROGRAMS, "was not built")
    def test_verbs(self):
        program = PROGRAMS["verbs_perf"]
        done = call(program, "sparse_alreduce_perf")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no program sparse_alreduce_perf; did you mean sparse_allreduce_perf?", done.stderr)
        self.assertIn("Example", call(program, "--help").stdout)
        self.check([program, "push_sum_perf"], *WRONG["push_sum_perf"], "verbs_perf")

    def test_scripts(self):
        for name, (wrong, nearest) in SCRIPTS.items():
            with self.subTest(name):
                self.check([ROOT / name.split()[0], *name.split()[1:]], wrong, nearest, name)

    def test_none_is_forgotten(self):
        """Every executable file of perf/ with options is in a table above."""
        tested = {name.split()[0] for name in SCRIPTS} | NOT_RUN
        for path in [*ROOT.glob("perf/*"), *ROOT.glob("perf/*/*"), *ROOT.glob("tests/*.sh")]:
            if not path.is_file() or not os.access(path, os.X_OK):
                continue
            text = path.read_text()
            if re.search(r"Parser\(|^ *-h \| --help\)", text, re.MULTILINE):
                self.assertIn(str(path.relative_to(ROOT)), tested)

    def test_one_parser(self):
        """Scripts in Python take the parser that knows the nearest option, except one that is copied alone."""
        for path in [*ROOT.glob("perf/*"), *ROOT.glob("perf/*/*")]:
            if path.is_file() and path.suffix in ("", ".py") and path.name not in ("options.py", "torch_topk.py"):
                self.assertNotIn("import argparse", path.read_text(), path)


class Launch(unittest.TestCase):
    """perf/launch gives each process its share of the cores, where there are enough."""
    SHOW = (sys.executable, "-c", "import os\n"  # one write, so that lines of two processes do not mix
            "os.write(1, f\"{' '.join(map(str, [os.environ['RANK'], *sorted(os.sched_getaffinity(0))]))}\\n\".encode())")

    def cores(self, *options):
        """Returns for each rank the cores that it may use."""
        done = call(ROOT / "perf/launch", *options, *self.SHOW)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        ranks = sorted([int(word) for word in line.split()] for line in done.stdout.splitlines())
        self.assertEqual([rank[0] for rank in ranks], list(range(len(ranks))))
        return [rank[1:] for rank in ranks]

    def setUp(self):
        self.all = sorted(os.sched_getaffinity(0))

    @unittest.skipUnless(shutil.which("taskset"), "needs taskset")
    def test_shares(self):
        for ranks in {1, 2, len(self.all)}:
            share = len(self.all) // ranks
            if share > 0:
                self.assertEqual(self.cores("-n", str(ranks)),
                                 [self.all[rank * share:(rank + 1) * share] for rank in range(ranks)])

    def test_not_bound(self):
        self.assertEqual(self.cores("-n", "2", "--bind-to", "none"), [self.all] * 2)
        more = len(self.all) + 1
        self.assertEqual(self.cores("-n", str(more)), [self.all] * more)

    def test_wrong_options(self):
        for options in (("--bind-to",), ("--bind-to", "none"), ("--bind-to", "socket", "true")):
            done = call(ROOT / "perf/launch", "-n", "2", *options)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("usage", done.stderr)


if __name__ == "__main__":
    unittest.main()
