#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""check_exports.py NM LIBRARY LIST HEADER...: checks that the shared library exports exactly the
functions that the public headers declare, with the versions that the file LIST has, and besides only
symbols for libsparsecoll_mpi.so, of the version SPARSECOLL_PRIVATE_*. Options before NM: --also NAME, a
function that no header declares.

LIST has a line "NAME VERSION" for each function. A new function gets a line. A line that goes, or whose
version changes, breaks programs that were linked before: it needs another major version of the project,
which is in the names of the libraries (SONAME)."""

import argparse
import pathlib
import re
import subprocess
import sys

DECLARATION = re.compile(r"^SPARSECOLL_API\s[^;(]*?(\w+)\s*\(", re.MULTILINE)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--also", action="append", default=[])
    parser.add_argument("nm")
    parser.add_argument("library")
    parser.add_argument("list", type=pathlib.Path)
    parser.add_argument("headers", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    declared = {n for h in options.headers for n in DECLARATION.findall(h.read_text())}
    declared |= set(options.also)
    table = subprocess.run(
        [options.nm, "-D", "--defined-only", "--format=posix", options.library],
        check=True, capture_output=True, text=True,
    ).stdout
    # The names of the versions are symbols, too, absolute ones.
    symbols = [words[0].split("@") for words in map(str.split, table.splitlines()) if words[1] != "A"]
    private = {name for name, *version in symbols if version[-1].startswith("SPARSECOLL_PRIVATE_")}
    exported = {name for name, *_ in symbols} - private
    versions = {f"{name} {version[-1]}" for name, *version in symbols if name not in private}
    listed = set(options.list.read_text().splitlines())
    for line in sorted(listed - versions):
        print(f"listed in {options.list.name}, not exported (old programs need it): {line}")
    for line in sorted(versions - listed):
        print(f"exported, not listed in {options.list.name}: {line}")
    for name in sorted(declared - exported):
        print(f"declared, not exported: {name}")
    for name in sorted(exported - declared):
        print(f"exported, not declared: {name}")
    print(f"{len(declared)} functions declared, {len(exported)} symbols exported, {len(private)} private ones")
    return 0 if declared and declared == exported and versions == listed else 1


if __name__ == "__main__":
    sys.exit(main())
