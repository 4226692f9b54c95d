#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""test_perfetto.py VERBS_PERF: checks timelines of real calls by the rules of Perfetto.

The ranks' files of each communicator are merged by timeline.py. Then the events are read as Perfetto's importer
reads them (src/trace_processor/importers/json/json_trace_parser.cc): sorted by time, with a stack of open slices
for each thread. An event of a flow belongs to the slice on top. What the importer would drop, or draw elsewhere,
is an error here."""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
RANKS = 3
RUNS = [
    ["sparse_allreduce_perf", "--algo", "oktopk,dense,allgather", "-b", "64K", "-e", "64K", "-n", "2"],
    ["sparse_allreduce_perf", "--algo", "dense", "-b", "12M", "-e", "12M", "-n", "1", "-c", "0"],  # in pieces
    ["sparse_allreduce_perf", "--algo", "oktopk", "--tensors", "3000,1,17,4000", "-n", "1", "-w", "0"],  # groups
    ["gtopk_allreduce_perf", "-b", "64K", "-e", "64K", "-n", "2"],
    ["sparse_alltoall_perf", "-b", "64K", "-e", "64K", "-n", "2"],
    ["push_sum_perf", "-n", "4", "--delay", "2", "-b", "64K", "-e", "64K"],
]


def nanoseconds(microseconds):
    return round(microseconds * 1000)


class Slice:
    def __init__(self, event, lane):
        self.rank, self.lane, self.args = event["pid"], lane, event["args"]
        self.name = event["name"]
        self.begin = nanoseconds(event["ts"])
        self.end = self.begin + nanoseconds(event["dur"])


def open_slice(stack, new):
    """Puts a slice on the stack of its thread."""
    while stack and (stack[-1].end < new.begin or
                     (stack[-1].end == new.begin and not stack[-1].begin == stack[-1].end == new.end)):
        stack.pop()
    for outer in stack:
        assert new.end <= outer.end, f"{outer.name} and {new.name} of rank {new.rank} overlap in {new.lane}"
    stack.append(new)


def names_of(events):
    """Returns the name of each thread. Checks that processes and threads are named and in order."""
    lanes, ranks, order = {}, set(), {}
    for event in events:
        if event["ph"] != "M":
            continue
        where = event["pid"], event["tid"]
        if event["name"] == "process_name":
            assert event["args"]["name"].startswith(f"rank {event['pid']} of {RANKS}, communicator "), event
            ranks.add(event["pid"])
        elif event["name"] == "process_sort_index":
            assert event["args"]["sort_index"] == event["pid"], event
        elif event["name"] == "thread_name":
            lanes[where] = event["args"]["name"]
        elif event["name"] == "thread_sort_index":
            order.setdefault(event["args"]["sort_index"], set()).add(lanes[where])
        else:
            raise AssertionError(event)
    assert ranks == set(range(RANKS)), ranks
    assert [order[index] for index in sorted(order)][:3] == [{"host"}, {"send"}, {"receive"}], order
    assert not {thread for _, thread in lanes} & ranks, "Perfetto would take a lane for a main thread"
    return lanes


def check(events):
    """Returns the number of messages, and how many of them have pieces."""
    lanes = names_of(events)
    stacks = collections.defaultdict(list)
    starts, ends, received = {}, {}, []
    for event in sorted((e for e in events if e["ph"] != "M"), key=lambda e: nanoseconds(e["ts"])):
        thread = event["pid"], event["tid"]
        if event["ph"] == "X":
            new = Slice(event, lanes[thread])
            open_slice(stacks[thread], new)
            if new.lane == "receive":
                received.append(new)
            continue
        on_top = stacks[thread][-1]
        assert on_top.begin <= nanoseconds(event["ts"]) <= on_top.end, event
        key = int(event["id"], 16), event["cat"], event["name"]
        if event["ph"] == "s":
            assert key not in starts, f"two flows with the id {event['id']}"
            starts[key] = [on_top]
        elif event["ph"] == "t":
            starts[key].append(on_top)
        else:
            assert event["ph"] == "f" and event["bp"] == "e" and key in starts and key not in ends, event
            ends[key] = on_top
    assert starts.keys() == ends.keys(), "flows without an end"
    assert len({id(end) for end in ends.values()}) == len(received), "messages that are no flows"
    for key, end in ends.items():
        for sent in starts[key]:
            assert (sent.lane, end.lane) == ("send", "receive")
            assert (sent.args["peer"], end.args["peer"]) == (end.rank, sent.rank)
            assert all(sent.args[fact] == end.args[fact] for fact in ("call", "number"))
        assert sum(sent.args["bytes"] for sent in starts[key]) == end.args["bytes"]
    return len(ends), sum(len(pieces) > 1 for pieces in starts.values())


def broken(events):
    """Yields copies of events that the importer would not take as they are meant, with what is wrong."""
    def change(kind, how):
        place = next(i for i, event in enumerate(events) if event["ph"] == kind)
        changed = how(dict(events[place]))
        return events[:place] + ([changed] if changed else []) + events[place + 1:]

    yield "no end of a flow", change("f", lambda event: None)
    yield "no begin of a flow", change("s", lambda event: None)
    yield "an end before the begin", change("f", lambda event: dict(event, ts=0))
    yield "an end at the next slice", change("f", lambda event: {k: v for k, v in event.items() if k != "bp"})
    yield "another message", change("f", lambda event: dict(event, id="0x7"))
    yield "a process without a name", change("M", lambda event: None)
    longest = max((event for event in events if event["ph"] == "X"), key=lambda event: event["dur"])
    yield "slices that overlap", [*events, dict(longest, ts=longest["ts"] - longest["dur"] / 2)]


def check_checker(events):
    for what, changed in broken(events):
        try:
            check(changed)
        except (AssertionError, IndexError, KeyError):
            continue
        raise SystemExit(f"not found: {what}")


def check_run(program, run, folder):
    done = subprocess.run([program, *run, "--transport", "local", "-t", str(RANKS)], capture_output=True, text=True,
                          timeout=100, env=dict(os.environ, SPARSECOLL_TIMELINE=str(folder / "t.%c.%r.json")))
    assert done.returncode == 0, done.stdout + done.stderr
    files = collections.defaultdict(list)
    for path in sorted(folder.iterdir()):
        files[path.name.split(".")[1]].append(path)
    messages = pieces = 0
    for number, ranks in files.items():
        if len(ranks) != RANKS:  # a communicator of one rank
            continue
        merged = folder / f"{number}.json"
        done = subprocess.run([sys.executable, HERE / "timeline.py", *ranks, "--out", merged], capture_output=True,
                              text=True, timeout=100)
        assert done.returncode == 0 and not done.stderr, done.stderr
        events = json.loads(merged.read_text())["traceEvents"]
        found = check(events)
        check_checker(events)
        messages, pieces = messages + found[0], pieces + found[1]
    print(f"{' '.join(run)}: {messages} messages, {pieces} in pieces")
    assert messages > 0
    return pieces


def main():
    pieces = 0
    for run in RUNS:
        with tempfile.TemporaryDirectory() as folder:
            pieces += check_run(sys.argv[1], run, pathlib.Path(folder))
    assert pieces > 0, "no message was sent in pieces"


if __name__ == "__main__":
    main()
