#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""check_exports.py NM LIBRARY HEADER...: checks that the shared library exports exactly the
functions that the public headers declare, and besides only symbols for libsparsecoll_mpi.so, of the
version SPARSECOLL_PRIVATE_*. Options before NM: --also NAME, a function that no header declares."""

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
    for name in sorted(declared - exported):
        print(f"declared, not exported: {name}")
    for name in sorted(exported - declared):
        print(f"exported, not declared: {name}")
    print(f"{len(declared)} functions declared, {len(exported)} symbols exported, {len(private)} private ones")
    return 0 if declared and declared == exported else 1


if __name__ == "__main__":
    sys.exit(main())
