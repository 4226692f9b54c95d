#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Draws one call from the files that SPARSECOLL_TIMELINE has the ranks of a communicator write, or
puts them together for Perfetto.

Needs matplotlib for pictures, and says so where there is none. Prints the name of the file that it
wrote.
"""

import argparse
import pathlib
import sys

# The modules beside this file, wherever it is started from.
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from plots import spans  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE", help="of one communicator, one a rank")
    parser.add_argument("--list", action="store_true", help="says which calls there are")
    parser.add_argument("--call", type=int, help="number of the call (the last of a verb)")
    parser.add_argument("--title", help="over the picture, in place of what the files say")
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
        spans.write_together(ranks, given.out)
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
