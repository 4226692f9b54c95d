# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""A picture of one call: what every rank does at each time."""

from plots import spans
from plots.style import plt

# The lanes of a rank, from top to bottom: name, owner of the colour, and names of the spans.
LANES = [
    ("select", "#009E73", lambda s: s["lane"] == "host" and s["name"] == "select"),
    ("pack", "#E69F00", lambda s: s["lane"] == "host" and s["name"] == "pack"),
    ("copy", "#CC79A7", lambda s: s["lane"] == "device"),
    ("wait for device", "#999999", lambda s: s["name"] == "wait for device"),
    ("exchange", "#56B4E9",
     lambda s: s["lane"] == "exchange on the device" or
     (s["lane"] == "host" and s["name"] == "exchange")),
    ("send", "#0072B2", lambda s: s["lane"] == "send"),
    ("receive", "#000000", lambda s: s["lane"] == "receive"),
    ("merge", "#D55E00", lambda s: s["lane"] == "host" and s["name"] == "reduce"),
]
HEIGHT = 0.8  # height of a lane


def lanes_of(ranks, number):
    """Returns for each lane that has spans: its name, its colour, and a list of the spans of each
    rank."""
    found = []
    for name, colour, belongs in LANES:
        mine = [[s for s in spans.of_call(one, number) if belongs(s)] for one in ranks]
        if any(mine):
            found.append((name, colour, mine))
    return found


def rows(mine):
    """Assigns spans to rows so that no two spans of a row overlap. Returns a tuple for each span:
    the span, its row, and the number of rows."""
    ends, placed = [], []
    for each in sorted(mine, key=lambda s: (s["begin"], s["end"])):
        row = next((r for r, end in enumerate(ends) if end <= each["begin"]), len(ends))
        ends[row:row + 1] = [each["end"]]
        placed.append((each, row))
    return [(each, row, len(ends)) for each, row in placed]


def draw_lane(axes, place, colour, mine):
    """Draws the spans `mine`, whose begin and end are in ms since the call began."""
    moments = [s["begin"] for s in mine if s["begin"] == s["end"]]
    if moments:
        axes.plot(moments, [place] * len(moments), "|", color=colour, markersize=9,
                  markeredgewidth=1.2)
    for each, row, count in rows([s for s in mine if s["begin"] < s["end"]]):
        height = HEIGHT / count
        axes.broken_barh(
            [(each["begin"], each["end"] - each["begin"])],
            (place - HEIGHT / 2 + row * height, height * (0.85 if count > 1 else 1)),
            color=colour, linewidth=0.6 if count == 1 else 0)


def since(start, mine):
    return [dict(s, begin=(s["begin"] - start) / 1e3, end=(s["end"] - start) / 1e3) for s in mine]


def draw(ranks, number, title=None):
    lanes = lanes_of(ranks, number)
    wholes = [spans.whole(one, number) for one in ranks]
    start = min(each["begin"] for each in wholes)
    figure, axes = plt.subplots(figsize=(9, 0.8 + 0.21 * (len(lanes) + 1) * len(ranks)))
    ticks = []
    for r, one in enumerate(ranks):
        top = r * (len(lanes) + 1)
        begin, end = ((wholes[r][side] - start) / 1e3 for side in ("begin", "end"))
        axes.broken_barh([(begin, end - begin)], (top - 0.5, len(lanes)), color="#f2f2f2", zorder=0)
        for i, (name, colour, mine) in enumerate(lanes):
            draw_lane(axes, top + i, colour, since(start, mine[r]))
            ticks.append((top + i, f"rank {one['rank']}   {name}" if i == 0 else name))
    axes.set_yticks([place for place, _ in ticks], [text for _, text in ticks], fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(ranks) * (len(lanes) + 1) - 1, -1)
    axes.grid(False, axis="y")
    axes.set_xlim(left=0)
    axes.set_xlabel("ms since the first rank began")
    longest = max(wholes, key=lambda each: each["end"] - each["begin"])
    axes.set_title(title or f"{spans.describe(longest)}, {len(ranks)} ranks")
    lost = sum(one["lost"] for one in ranks)
    if lost > 0:
        axes.annotate(f"{lost} spans were lost", (1, 1), xycoords="axes fraction", ha="right",
                      va="bottom", fontsize=8)
    return figure
