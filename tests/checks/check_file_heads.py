#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""check_file_heads.py ROOT: checks how every file begins.

Sources, scripts and CMake files begin with the two SPDX lines, which have nothing behind them. Headers have #pragma once, except
those in folders named include, which users include and which have include guards."""

import os
import pathlib
import shutil
import subprocess
import sys

SUFFIXES = {".c", ".h", ".cpp", ".hpp", ".cu", ".cuh", ".f90", ".cmake", ".py", ".sh", ".in", ".map"}
HEADERS = {".h", ".hpp", ".cuh"}
LINES = (
    "SPDX-FileCopyrightText: 2026 The sparsecoll authors",
    "SPDX-License-Identifier: Apache-2.0",
)


def listed_by_git(root):
    """Returns the files that git tracks or would add, or None without git or without its folder."""
    if not (root / ".git").exists() or not shutil.which("git"):
        return None
    git = ["git", "-C", str(root), "-c", f"safe.directory={root}", "ls-files", "-z", "--cached"]
    git += ["--others", "--exclude-standard"]
    names = subprocess.run(git, check=True, capture_output=True, text=True).stdout.split("\0")
    return [root / name for name in names if name and (root / name).is_file()]


def walked(root):
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if not f.startswith(("build", ".git", "__pycache__"))]
        yield from (pathlib.Path(folder) / name for name in names)


def is_source(path):
    if path.suffix in SUFFIXES or path.name == "CMakeLists.txt":
        return True
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def fault(root, path):
    """Returns what is wrong with the first lines of a file, or an empty string."""
    text = path.read_text(encoding="utf-8", errors="replace")
    head = text.split("\n")[:6]
    if not all(any(each.removesuffix(" */").endswith(line) for each in head) for line in LINES):
        return "no SPDX header"
    if path.suffix in HEADERS and "include" not in path.relative_to(root).parts:
        if "#pragma once" not in text:
            return "expected #pragma once"
    return ""


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    files = listed_by_git(root)
    sources = sorted(p for p in (walked(root) if files is None else files) if is_source(p))
    faults = [f"{path.relative_to(root)}: {why}" for path in sources if (why := fault(root, path))]
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"{len(sources)} files, {len(faults)} faults")
    return 1 if faults or not sources else 0


if __name__ == "__main__":
    sys.exit(main())
