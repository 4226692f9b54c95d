#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Draws one call from the files that the ranks of a communicator write with SPARSECOLL_TIMELINE, or
merges the files for Perfetto.

Needs matplotlib for pictures. Prints the name of the file that it writes. For example:

  SPARSECOLL_TIMELINE=t.%r.json mpirun -n 4 ./program
  perf/timeline.py t.*.json --list
  perf/timeline.py t.*.json --call 7 --out 7.png
  perf/timeline.py t.*.json --out all.json
"""

import pathlib
import sys

# Makes the modules in this file's folder importable from any current folder.
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from plots import options, spans  # noqa: E402


def arguments():
    parser = options.Parser(description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE", help="files of one communicator, one of each rank")
    parser.add_argument("--list", action="store_true", help="list the calls")
    parser.add_argument("--call", type=int, help="number of the call (the last of a verb)")
    parser.add_argument("--title", help="title of the picture, instead of one made from the files")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("timeline.png"),
                        help="picture (timeline.png), .png or .svg; .json: all ranks, for Perfetto")
    return parser.parse_args()


def main():
    given = arguments()
    ranks = spans.load(given.files)
    if given.list:
        for number, call in sorted(spans.calls(ranks).items()):
            print(f"{number}: {spans.describe(call)}")
        return
    if given.out.suffix == ".json":
        incomplete, backward = spans.write_together(ranks, given.out)
        if incomplete:
            print(f"timeline.py: messages with one end in these files: {incomplete}", file=sys.stderr)
        if backward:
            print(f"timeline.py: messages that arrived before they were sent, by the clocks: {backward}",
                  file=sys.stderr)
        print(given.out)
        return
    number = spans.choose(ranks, given.call)
    try:
        from plots import style, timeline
    except ImportError as problem:
        sys.exit(f"timeline.py: {sys.executable} has no matplotlib ({problem}); another may, as /usr/bin/python3")
    figure = timeline.draw(ranks, number, given.title)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    style.save(figure, given.out.parent, given.out.stem, given.out.suffix.lstrip("."))


if __name__ == "__main__":
    main()
