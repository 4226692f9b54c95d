# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the timelines of a communicator's ranks (docs/environment.md, SPARSECOLL_TIMELINE)."""

import json
import pathlib

# Names of calls that are not listed.
QUIET = ("sparsecollCommInit", "sparsecollCommDestroy")
# Microseconds. Clocks that were 0 at nearly the same time are one: that of a machine, read by several processes.
SAME_CLOCK = 1000


def load(paths):
    """Returns the list of dicts {rank, ranks, communicator, lost, clock, events, spans}, by rank. Times
    are on the first rank's clock."""
    ranks = []
    for path in paths:
        try:
            whole = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
            about = whole["otherData"]
            one = dict(about, events=whole["traceEvents"])
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise SystemExit(f"{path}: no timeline ({error!r})") from error
        ranks.append(one)
    ranks.sort(key=lambda one: one["rank"])
    if len({one["rank"] for one in ranks}) < len(ranks):
        raise SystemExit("two files of the same rank: not of one communicator")
    zeros = []  # of the clocks
    for one in ranks:
        near = [zero for zero in zeros if abs(one["unixTimeOfZero"] - zero) < SAME_CLOCK]
        if not near:
            zeros.append(one["unixTimeOfZero"])
        one["clock"] = zeros.index((near or zeros[-1:])[0])
        move([one], zeros[one["clock"]] - zeros[0])
    for clock, late in lateness(ranks).items():
        move([one for one in ranks if one["clock"] == clock], -late)
    for one in ranks:
        one["spans"] = list(spans_of(one["events"]))
    return ranks


def move(ranks, shift):
    """Adds `shift` to all times of these ranks."""
    for one in ranks:
        for event in one["events"]:
            if "ts" in event:
                event["ts"] += shift


def lateness(ranks):
    """Returns by how much clocks are ahead of the first one, for those by which messages arrive before they are
    sent. It takes the fastest messages between two clocks for equally fast in both directions."""
    fastest = {}
    for (sent, sender), (arrived, receiver) in (ends for ends in flows_of(ranks).values() if None not in ends):
        between = sender, receiver
        fastest[between] = min(fastest.get(between, arrived - sent), arrived - sent)
    late = {0: 0}
    for _ in range(len(ranks)):
        for (one, other), time in fastest.items():
            back = fastest.get((other, one))
            if one in late and other not in late and back is not None:
                late[other] = late[one] + ((time - back) / 2 if min(time, back) < 0 else 0)
    return late


def spans_of(events):
    """Returns the spans. Each has name, lane, begin and end in microseconds, and call, bytes and
    peer if known."""
    lanes = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    for event in events:
        if event["ph"] == "X":
            yield dict(event["args"], name=event["name"], lane=lanes[event["tid"]], begin=event["ts"],
                       end=event["ts"] + event["dur"])


def of_call(one, number):
    return [each for each in one["spans"] if each["call"] == number]


def whole(one, number):
    """Returns the span of a call, the longest one of the host, or None if it was lost."""
    mine = [each for each in of_call(one, number) if each["lane"] == "host"]
    return max(mine, key=lambda each: each["end"] - each["begin"], default=None)


def calls(ranks):
    """Returns the calls that all ranks have: number -> span on the first rank."""
    numbers = set.intersection(*({each["call"] for each in one["spans"]} for one in ranks))
    found = {number: [whole(one, number) for one in ranks] for number in numbers}
    return {number: each[0] for number, each in found.items() if None not in each}


def describe(call):
    facts = ", ".join(f"{key} {call[key]}" for key in ("count", "k", "calls") if key in call)
    algorithm = f" by {call['algorithm']}" if "algorithm" in call else ""
    time = f"{(call['end'] - call['begin']) / 1e3:.3f} ms"
    return f"{call['name']}{algorithm}" + (f", {facts}" if facts else "") + f", {time}"


def choose(ranks, wanted):
    """Returns the number of the call to draw."""
    known = calls(ranks)
    verbs = [number for number, call in known.items() if not call["name"].startswith(QUIET)]
    if wanted is None and not verbs:
        raise SystemExit("no call that all of these files have")
    number = max(verbs) if wanted is None else wanted
    if number not in known:
        raise SystemExit(f"call {number} is not in all of these files; --list says which are")
    return number


def flows_of(ranks):
    """Returns the flow of each message, by id: where it was sent and where it arrived, as pairs of time and clock.
    An end is None if its event was lost, or is in none of the files."""
    flows = {}
    for one in ranks:
        for event in one["events"]:
            if event["ph"] in ("s", "f"):
                flows.setdefault(event["id"], [None, None])[event["ph"] == "f"] = event["ts"], one["clock"]
    return flows


def write_together(ranks, path):
    """Writes one file of all ranks, in which each rank is a process. Leaves out flows that lack an end, and
    those that would go back in time. Returns the numbers of both."""
    flows = flows_of(ranks)
    complete = {name: ends for name, ends in flows.items() if None not in ends}
    forward = {name for name, ((sent, _), (arrived, _)) in complete.items() if sent <= arrived}
    events = [dict(event, pid=one["rank"]) for one in ranks for event in one["events"]
              if event["ph"] not in ("s", "t", "f") or event["id"] in forward]
    lost = sum(one["lost"] for one in ranks)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(
        {"traceEvents": events, "displayTimeUnit": "ms", "otherData": {"lost": lost}}))
    return len(flows) - len(complete), len(complete) - len(forward)
