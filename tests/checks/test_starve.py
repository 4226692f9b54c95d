#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""test_starve.py ROOT: perf/starve takes the CPU from the programs below a folder, and gives it back."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

STARVE = pathlib.Path(sys.argv.pop(1)) / "perf" / "starve"
PATIENCE = 60  # seconds


def may_schedule(process):
    """Returns whether this user may starve a process and give it the CPU back."""
    try:
        for policy in (os.SCHED_IDLE, os.SCHED_OTHER):
            os.sched_setscheduler(process.pid, policy, os.sched_param(0))
    except PermissionError:
        return False
    return True


class Starve(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, *command, **options):
        process = subprocess.Popen(command, text=True, **options)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def test_below_the_folder(self):
        shutil.copy(shutil.which("sleep"), self.folder)
        inside = self.start(self.folder / "sleep", "1000")
        outside = self.start("sleep", "1000")
        if not may_schedule(outside):
            self.skipTest("needs the right to change the scheduling of processes")
        starve = self.start(STARVE, self.folder, "--rate=10", stdout=subprocess.PIPE)
        end = time.monotonic() + PATIENCE
        while os.sched_getscheduler(inside.pid) != os.SCHED_IDLE:
            self.assertLess(time.monotonic(), end, "it was not starved")
            time.sleep(0.01)
        self.assertEqual(os.sched_getscheduler(outside.pid), os.SCHED_OTHER)
        starve.send_signal(signal.SIGTERM)
        self.assertRegex(starve.communicate(timeout=PATIENCE)[0], r"^threads were starved [1-9]\d* times\n$")
        self.assertEqual(starve.returncode, 0)
        self.assertEqual(os.sched_getscheduler(inside.pid), os.SCHED_OTHER)

    def test_wrong_arguments(self):
        for arguments, message in ((["--rate=0"], "argument --rate: 0 is not in (0, 10]"),
                                   (["--rate=nan"], "argument --rate: nan is not in (0, 10]")):
            done = subprocess.run([STARVE, self.folder, *arguments], capture_output=True, text=True, check=False,
                                  timeout=PATIENCE)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(message, done.stderr)
        done = subprocess.run([STARVE, self.folder / "none"], capture_output=True, text=True, check=False,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, 2)
        self.assertIn("none is not a folder", done.stderr)


if __name__ == "__main__":
    unittest.main()
