#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""test_start_mpi.py ROOT CTEST BUILD MPIRUN: tests of tests/support/start_mpi.sh, and that tests use it."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT, CTEST, BUILD, MPIRUN = sys.argv[1:]
START = pathlib.Path(ROOT) / "tests/support/start_mpi.sh"
SECONDS = 60  # a guard against hangs
VERSION = subprocess.run([MPIRUN, "--version"], capture_output=True, text=True, timeout=SECONDS).stdout
# In place of mpirun: shows its folder, and lives until its input ends.
WAITS = 'test -d "$OMPI_MCA_orte_tmpdir_base" && echo "$OMPI_MCA_orte_tmpdir_base" && cat'


class StartMpi(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = {**os.environ, "TMPDIR": folder.name}
        self.base = self.folder / f"sparsecoll.{os.getuid()}"

    def start(self, *command):
        process = subprocess.Popen([START, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=self.environment)
        self.addCleanup(process.communicate, timeout=SECONDS)
        return process

    def waits(self):
        process = self.start("sh", "-c", WAITS)
        return process, process.stdout.readline().strip()

    def test_folders(self):
        jobs = [self.waits() for _ in range(4)]
        folders = [folder for _, folder in jobs]
        self.assertEqual(folders, [str(self.base / str(number)) for number in range(4)])
        jobs[1][0].communicate(timeout=SECONDS)
        self.assertEqual(self.waits()[1], folders[1])  # free again
        self.assertEqual(self.waits()[1], str(self.base / "4"))

    def test_started_at_once(self):
        jobs = [self.start("sh", "-c", WAITS) for _ in range(16)]
        self.assertEqual(len({job.stdout.readline() for job in jobs} - {""}), 16)

    def test_becomes_it(self):
        process = self.start("sh", "-c", "echo $$ && exit 7")
        self.assertEqual(process.stdout.readline().strip(), str(process.pid))
        self.assertEqual(process.wait(SECONDS), 7)

    def refuses(self, path):
        self.environment["PATH"] = path
        done = subprocess.run([START, "sh", "-c", "echo started"], capture_output=True, text=True,
                              env=self.environment, timeout=SECONDS)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"start_mpi.sh: flock cannot lock \S+/0\n$")

    def test_no_lock(self):
        flock = self.folder / "flock"
        flock.write_text("#!/bin/sh\nexit 71\n")
        flock.chmod(0o755)
        self.refuses(f"{self.folder}:{os.environ['PATH']}")

    def test_no_flock(self):
        for program in ("sh", "id", "mkdir"):
            (self.folder / program).symlink_to(shutil.which(program))
        self.refuses(str(self.folder))

    @unittest.skipUnless(re.search(r"\((Open MPI|OpenRTE)\) 4\.", VERSION), "not Open MPI 4")
    def test_mpirun(self):
        """Open MPI puts its files there, and ranks do not keep the folder locked."""
        shows = 'find "$OMPI_MCA_orte_tmpdir_base" -name contact.txt && readlink /proc/$$/fd/* || true'
        done = subprocess.run([START, MPIRUN, "--oversubscribe", "-n", "1", "sh", "-c", shows],
                              capture_output=True, text=True, env=self.environment, timeout=SECONDS)
        self.assertEqual(done.returncode, 0, done.stderr)
        session, *descriptors = done.stdout.split("\n")
        self.assertTrue(session.startswith(f"{self.base}/0/"), done.stdout)
        self.assertNotIn(f"{self.base}/0", descriptors)

    def test_used_by_all(self):
        done = subprocess.run([CTEST, "--test-dir", BUILD, "--show-only=json-v1"], capture_output=True, text=True,
                              check=True, timeout=SECONDS)
        users = 0
        for test in json.loads(done.stdout)["tests"]:
            if test["name"] == "checks.start_mpi":
                continue
            properties = {p["name"]: p["value"] for p in test["properties"]}
            words = " ".join([*properties.get("ENVIRONMENT", []), *test.get("command", [])]).replace("=", " ").split()
            for before, word in zip(words, words[1:]):
                if word == MPIRUN:
                    self.assertEqual(before, str(START), test["name"])
                    users += 1
        self.assertGreater(users, 50)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
