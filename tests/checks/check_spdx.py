#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""check_spdx.py ROOT: does every source, script and CMake file begin with the two SPDX lines?"""

import os
import pathlib
import shutil
import subprocess
import sys

SUFFIXES = {".c", ".h", ".cpp", ".hpp", ".cu", ".cuh", ".f90", ".cmake", ".py", ".sh", ".in", ".map"}
LINES = (
    "SPDX-FileCopyrightText: 2026 The sparsecoll authors",
    "SPDX-License-Identifier: Apache-2.0",
)


def listed_by_git(root):
    """Files that git knows or would add; None without git or its folder (an unpacked archive)."""
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


def head(path):
    with path.open(encoding="utf-8", errors="replace") as file:
        return "".join(line for _, line in zip(range(6), file))


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    files = listed_by_git(root)
    sources = [p for p in (walked(root) if files is None else files) if is_source(p)]
    bare = [p for p in sorted(sources) if not all(line in head(p) for line in LINES)]
    for path in bare:
        print(f"{path.relative_to(root)}: no SPDX header")
    print(f"{len(sources)} files, {len(bare)} without a header")
    return 1 if bare or not sources else 0


if __name__ == "__main__":
    sys.exit(main())
