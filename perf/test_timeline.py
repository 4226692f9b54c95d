#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that timeline.py draws, lists and merges records of ranks. test_timeline.py [FOLDER]"""

import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LANES = {1: "host", 2: "send", 3: "receive", 4: "device", 5: "exchange on the device",
         6: "send"}


def file_of(rank, zero, lost=0):
    """Returns the file of a rank with two calls. Its clock is 0 at `zero`, in microseconds."""
    def at(time):
        return time - zero

    events = [{"ph": "M", "pid": rank, "tid": tid, "name": "thread_name", "args": {"name": name}}
              for tid, name in LANES.items()]

    def add(tid, name, begin, end, flow=None, **facts):
        where = {"pid": rank, "tid": tid, "ts": at(begin)}
        events.append(dict(where, ph="X", name=name, dur=end - begin, args=facts))
        if flow:
            events.append(dict(where, ph=flow[0], name="message", cat="message", id=flow[1]))

    for call, start in ((1, 1e6), (2, 2e6 + 10 * rank)):
        add(1, "select", start + 10, start + 200, call=call)
        add(1, "pack", start + 210, start + 300, call=call)
        add(4, "pack", start + 220, start + 420, call=call, most_bytes=4096)
        add(2, "message", start + 310, start + 600, ("s", f"{call}.{rank}"), call=call, peer=1 - rank, bytes=5000)
        add(6, "piece", start + 400, start + 700, ("s", f"lost.{call}.{rank}"), call=call, peer=1 - rank, bytes=5000)
        add(3, "message", start + 650, start + 650, ("f", f"{call}.{1 - rank}"), call=call, peer=1 - rank, bytes=5000)
        add(1, "exchange", start + 305, start + 710, call=call)
        add(1, "reduce", start + 720, start + 900, call=call)
        add(1, "sparseAllreduce", start, start + 1000, call=call, count=100, k=10,
            algorithm="oktopk")
    add(1, "sparsecollCommDestroy", 3e6, 3e6 + 5, call=3)
    return {"traceEvents": events, "otherData": {
        "rank": rank, "ranks": 2, "communicator": 1, "process": 7, "unixTimeOfZero": zero,
        "lost": lost}}


def timeline(*words, fails=False):
    done = subprocess.run(
        [sys.executable, HERE / "timeline.py", *words], capture_output=True, text=True, timeout=300)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done


def check_lanes():
    sys.path.insert(0, str(HERE))
    from plots import timeline as drawing
    a, b, c = ({"begin": begin, "end": begin + 10} for begin in (0, 5, 10))
    assert drawing.rows([b, a, c]) == [(a, 0, 2), (b, 1, 2), (c, 0, 2)]


def run(folder):
    files = []
    for rank, zero in ((0, 0), (1, 500000)):
        files.append(folder / f"t.{rank}.json")
        files[-1].write_text(json.dumps(file_of(rank, zero, lost=3 * rank)))

    listed = timeline("--list", *files).stdout.splitlines()
    assert listed[0] == "1: sparseAllreduce by oktopk, count 100, k 10, 1.000 ms", listed
    assert len(listed) == 3, listed

    for suffix, begins in ((".png", b"\x89PNG"), (".svg", b"<?xml")):
        out = folder / f"picture{suffix}"
        assert timeline(*files, "--out", out).stdout.strip() == str(out)
        assert out.read_bytes().startswith(begins)
    drawn = (folder / "picture.svg").read_bytes()
    timeline(*files, "--call", "2", "--out", folder / "picture.svg")
    assert drawn == (folder / "picture.svg").read_bytes(), "the same call gives another picture"

    together = folder / "all.json"
    said = timeline(*files, "--out", together).stderr
    assert said == "timeline.py: messages with one end in these files: 4\n", said
    events = json.loads(together.read_text())["traceEvents"]
    flows = sorted((e["ph"], e["id"]) for e in events if e["ph"] in "sf")
    assert flows == [(ph, f"{call}.{rank}") for ph in "fs" for call in (1, 2) for rank in (0, 1)], flows
    begins = {e["pid"]: e["ts"] for e in events
              if e["name"] == "sparseAllreduce" and e["args"]["call"] == 2}
    assert begins == {0: 2e6, 1: 2e6 + 10}, begins  # both times are on the same clock

    late = file_of(1, 501000)
    late["otherData"]["unixTimeOfZero"] = 500000  # a clock that is wrong by 1 ms
    files[1].write_text(json.dumps(late))
    assert "clocks" not in timeline(*files, "--out", together).stderr
    begins = [e["ts"] for e in json.loads(together.read_text())["traceEvents"]
              if e["name"] == "sparseAllreduce" and e["args"]["call"] == 2]
    assert abs(begins[0] - begins[1]) < 20, begins  # messages in both directions say so
    silent = json.loads(files[0].read_text())
    silent["traceEvents"] = [event for event in silent["traceEvents"] if event["ph"] != "f"]
    files[0].write_text(json.dumps(silent))
    assert "by the clocks: 2\n" in timeline(*files, "--out", together).stderr

    assert "call 9 is not" in timeline(*files, "--call", "9", fails=True).stderr
    assert "same rank" in timeline(files[0], files[0], fails=True).stderr
    (folder / "bad.json").write_text("{}")
    assert "bad.json" in timeline(folder / "bad.json", fails=True).stderr
    check_lanes()


if len(sys.argv) > 1:
    pathlib.Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    run(pathlib.Path(sys.argv[1]))
else:
    with tempfile.TemporaryDirectory() as name:
        run(pathlib.Path(name))
print("timelines were drawn")
