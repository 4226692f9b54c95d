#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""test_blame.py ROOT: tests of tools/sparsecoll-blame over flight records."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(sys.argv.pop(1)) / "tools" / "sparsecoll-blame"
SECOND = 1_000_000
START = 1_700_000_000 * SECOND
TIMEOUT, REMOTE_ERROR, INVALID_USAGE, INVALID_ARGUMENT = 8, 6, 5, 4


def call(sequence, state="done", **more):
    made = {"sequence": sequence, "verb": "sparseAllreduce", "count": 1000, "k": 10, "type": "float32",
            "algorithm": "oktopk", "state": state, "stage": "confirmed", "begin": START + sequence * SECOND,
            "end": START + sequence * SECOND + 500, "waits": False, "waited": 0, "peers": []}
    if state == "running":
        made["latest"] = made.pop("end")
    return {**made, **more}


def failed(sequence, result, peers, **more):
    late = {"end": START + (sequence + 2) * SECOND, "waited": 2 * SECOND, "stage": "exchange"}
    return call(sequence, "failed", result=result, peers=peers, **late, **more)


class Blame(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def record(self, rank, calls, ranks=4, **more):
        error = None
        if calls and calls[-1].get("state") == "failed" and calls[-1].get("result") != INVALID_ARGUMENT:
            error = {"result": calls[-1].get("result"), "message": "deadline passed"}
        data = {"flightRecord": 1, "communicator": 1, "rank": rank, "ranks": ranks, "worldRank": rank,
                "host": "node", "process": 1, "time": START + 20 * SECOND, "cause": "failure",
                "error": error, "calls": calls, **more}
        number = len(list(self.folder.iterdir()))
        (self.folder / f"{number}.json").write_text(json.dumps(data))

    def blame(self, code):
        files = sorted(self.folder.iterdir())
        done = subprocess.run([sys.executable, "-B", TOOL, *files], capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout.strip()

    def test_dead(self):
        for rank in (0, 1, 3):
            self.record(rank, [call(6), failed(7, TIMEOUT, [2])])
        self.assertEqual(
            self.blame(1),
            "communicator 1 of 4 ranks: call 7 (sparseAllreduce, count 1000, k 10, float32, oktopk): rank 2 "
            "was missing; no record of rank 2; ranks 0, 1 and 3 waited for rank 2 (2.00 s at most)")

    def test_behind(self):
        self.record(0, [failed(7, TIMEOUT, [1])], ranks=2)
        self.record(1, [call(6)], ranks=2)
        line = self.blame(1)
        self.assertIn("rank 1 was missing; its last call was call 6 (sparseAllreduce), 14.00 s before", line)
        self.assertIn("rank 0 waited for rank 1", line)

    def test_behind_in_another_call(self):
        self.record(0, [call(7, "running", waits=True, peers=[1])], ranks=2)
        self.record(1, [call(6, "running", stage="select")], ranks=2)
        self.assertIn("call 6 (", self.blame(1))

    def test_no_call_at_all(self):
        self.record(0, [failed(0, TIMEOUT, [1])], ranks=2)
        self.record(1, [], ranks=2)
        self.assertIn("rank 1 was missing; it made no call", self.blame(1))

    def test_hangs_outside_of_a_wait(self):
        for rank in (0, 1):
            self.record(rank, [call(7, "running", waits=True, peers=[2], waited=9 * SECOND)], ranks=3)
        self.record(2, [call(7, "running", stage="select")], ranks=3)
        line = self.blame(1)
        self.assertIn("rank 2 did not wait but was in stage select", line)
        self.assertIn("ranks 0 and 1 waited for rank 2 (9.00 s at most)", line)

    def test_late(self):
        self.record(0, [failed(7, TIMEOUT, [1])], ranks=2)
        self.record(1, [failed(7, REMOTE_ERROR, [], begin=START + 11 * SECOND)], ranks=2)
        self.assertIn("rank 1 came too late, 4.00 s after the first", self.blame(1))

    def test_disagreement(self):
        self.record(0, [failed(7, TIMEOUT, [1])], ranks=2)
        self.record(1, [failed(7, TIMEOUT, [0], k=11)], ranks=2)
        line = self.blame(1)
        self.assertIn("the ranks disagreed: rank 0 called sparseAllreduce, count 1000, k 10, float32", line)
        self.assertIn("rank 1 called sparseAllreduce, count 1000, k 11", line)

    def test_completed_by_some(self):
        self.record(0, [call(7)], ranks=2)
        self.record(1, [failed(7, REMOTE_ERROR, [])], ranks=2)
        self.assertIn("rank 0 completed it, the others did not", self.blame(1))

    def test_nobody(self):
        self.record(0, [call(6), call(7)], ranks=3)
        self.record(1, [call(6), call(7, "failed", result=INVALID_ARGUMENT)], ranks=3)
        self.assertEqual(self.blame(0), "communicator 1 of 3 ranks: nobody was missing up to call 7; no record "
                         "of rank 2")

    def test_abort(self):
        self.record(0, [failed(7, INVALID_USAGE, [1])], ranks=2)
        self.record(1, [call(6)], ranks=2)
        self.assertIn("rank 1 was missing", self.blame(1))

    def test_newest_record_of_a_rank(self):
        self.record(0, [failed(7, TIMEOUT, [1])], ranks=2)
        self.record(0, [call(6)], ranks=2, time=START)
        self.record(1, [call(6)], ranks=2)
        self.assertIn("call 7", self.blame(1))

    def test_many_peers(self):
        self.record(0, [failed(7, TIMEOUT, [1, 2], allPeers=30)], ranks=40)
        self.assertIn("rank 0 waited for ranks 1 and 2 and 28 more", self.blame(1))

    def test_communicators(self):
        self.record(0, [call(7)], ranks=1)
        self.record(0, [call(3)], ranks=1, communicator=2)
        self.assertEqual(len(self.blame(0).splitlines()), 2)

    def test_no_record(self):
        for text in ("", "[]", "{}", '{"flightRecord": 2}', '{"flightRecord": 1}'):
            (self.folder / "0.json").write_text(text)
            self.assertEqual(self.blame(2), "")

    def refuse(self, words):
        """All files are given to the tool, which must refuse one in one line with these words."""
        files = sorted(self.folder.iterdir())
        done = subprocess.run([sys.executable, "-B", TOOL, *files], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stdout + done.stderr)
        self.assertIn(words, done.stderr)
        for file in files:
            file.unlink()

    def test_damaged(self):
        good = failed(7, TIMEOUT, [2], algorithm="oktopk")
        for key in ("sequence", "verb", "state", "stage", "begin", "end", "waits", "peers", "result"):
            self.record(0, [{k: v for k, v in good.items() if k != key}], error=None)
            self.refuse(key)
            self.record(0, [{**good, key: {}}], error=None)
            self.refuse(key)
        for key in ("communicator", "time"):
            self.record(0, [call(1)], **{key: None})
            self.refuse(key)
        for ranks in (0, -1, 2**40, "4"):
            self.record(0, [call(1)], ranks=ranks)
            self.refuse("rank")
        (self.folder / "deep.json").write_text("[" * 100000)
        self.refuse("deep.json")
        os.mkfifo(self.folder / "pipe")
        self.refuse("expected a file")

    def test_many_absent(self):
        self.record(0, [failed(7, TIMEOUT, [1])], ranks=1_000_000)
        self.assertIn("and 999967 more", self.blame(1))
        self.assertLess(len(self.blame(1)), 2000)


if __name__ == "__main__":
    unittest.main()
