#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""check_soak.py SOAK: perf/soak must see the ways in which a job can break a promise.

Its programs are scripts here, which write the reports that the real ones would write.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

GOOD = {"rank": 0, "verdict": "", "dies": False, "excluded": False, "calls": 10, "faulty": 4, "refused": 1,
        "failed": 2, "kills": 1, "lates": 0, "aborts": 0, "shrinks": 3, "saves": 0, "dead_files": 0,
        "unplanned": 0, "worst_over": 0.25, "worst_what": "a call", "worst_own": 0.05, "worst_delay": 0.001}


def run(soak, script, most=1):
    """Runs `most` jobs with this script as the program. Returns the status, the output, and what was kept."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "soak").mkdir()
        program = folder / "soak/soak_threads"
        program.write_text("#!/usr/bin/env python3\nimport json, sys\n"
                           "of = dict(zip(sys.argv[1::2], sys.argv[2::2]))\n"
                           f"good = {GOOD!r}\n"
                           "def report(rank, **other):\n"
                           "    with open(f\"{of['--folder']}/rank_{rank}\", 'w') as file:\n"
                           "        json.dump({**good, 'rank': rank, **other}, file)\n"
                           "ranks = int(of['--ranks'])\n" + script, encoding="utf-8")
        program.chmod(0o755)
        table = folder / "table.json"
        done = subprocess.run(
            [soak, "--programs", folder, "--kinds", "threads", "--most", str(most), "--json", table,
             "--failed", folder / "failed"], capture_output=True, text=True, check=False, timeout=60)
        kept = list((folder / "failed").glob("*/violations"))
        return done, json.loads(table.read_text(encoding="utf-8"))[0], kept


def expect(what, condition, done):
    if not condition:
        sys.exit(f"{what}\n{done.stdout}\n{done.stderr}")


def main():
    soak = sys.argv[1]
    every = "for rank in range(ranks): report(rank)\n"
    done, row, kept = run(soak, every)
    expect("a good job", done.returncode == 0 and row["broken"] == 0 and not kept, done)
    expect("its numbers", [row[c] for c in ("jobs", "calls", "kills", "worst_over", "worst_own")] == [1, 10, 1, 0.25, 0.05], done)
    terminates = every + "import os, signal, time\nos.kill(os.getppid(), signal.SIGTERM)\ntime.sleep(0.2)\n"
    done, row, _ = run(soak, terminates, most=100)
    expect("a run that is terminated", done.returncode == 0 and row["jobs"] == 1, done)
    starved = "for rank in range(ranks): report(rank, excluded=True, worst_delay=0.6)\n"
    done, row, kept = run(soak, f"if int(of['--timeout-ms']) > 1000:\n  {every}else:\n  {starved}")
    expect("ranks without a CPU, once", done.returncode == 0 and row["excluded"] == 0 and not kept and
           "with a deadline of 1000 ms: no rank went on; a thread waited 0.6 s" in done.stderr, done)
    for what, script, words in (
            ("a rank that breaks a promise", every + "report(1, verdict='a wrong sum')", "rank 1: a wrong sum"),
            ("a rank that crashes", "for rank in range(1, ranks): report(rank)", "rank 0 left no report"),
            ("half a report", every + "open(f\"{of['--folder']}/rank_1\", 'w').write('{')", "rank 1 left half a report"),
            ("ranks that all give up", "for rank in range(ranks): report(rank, excluded=True)", "no rank went on"),
            ("ranks without a CPU, always", starved.replace("0.6", "60"), "with a deadline of 16000 ms: no rank"),
            ("a bad exit status", every + "sys.exit(7)", "exit status 7")):
        done, row, kept = run(soak, script)
        expect(what, done.returncode == 1 and row["broken"] == 1 and words in done.stderr and len(kept) == 1, done)


if __name__ == "__main__":
    main()
