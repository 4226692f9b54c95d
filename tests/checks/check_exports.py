#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""check_exports.py NM LIBRARY HEADER...: checks that the shared library exports exactly the
functions that the public headers declare."""

import pathlib
import re
import subprocess
import sys

DECLARATION = re.compile(r"^SPARSECOLL_API\s[^;(]*?(\w+)\s*\(", re.MULTILINE)


def main():
    nm, library, *headers = sys.argv[1:]
    declared = {n for h in headers for n in DECLARATION.findall(pathlib.Path(h).read_text())}
    table = subprocess.run(
        [nm, "-D", "--defined-only", "--format=posix", library],
        check=True, capture_output=True, text=True,
    ).stdout
    exported = {line.split()[0].split("@")[0] for line in table.splitlines()}
    for name in sorted(declared - exported):
        print(f"declared, not exported: {name}")
    for name in sorted(exported - declared):
        print(f"exported, not declared: {name}")
    print(f"{len(declared)} functions declared, {len(exported)} symbols exported")
    return 0 if declared and declared == exported else 1


if __name__ == "__main__":
    sys.exit(main())
