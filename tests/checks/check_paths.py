#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""check_paths.py ROOT: checks that every file and folder named by the documentation exists.

Reads README.md and the Markdown pages of docs/ and perf/. Checks
  - targets of relative links;
  - inline code that begins with a folder of the repository, such as `src/core/arena.hpp`. It may have
    the patterns `*` and `{a,b}`, of which one file must match. Text after a blank is ignored;
  - inline code that is the bare name of a source file, such as `arena.hpp`: some file must have it.
Names with <placeholders> or $VARIABLES are not checked, nor are those that a page lists in a comment
<!-- elsewhere: NAME ... -->.
"""

import fnmatch
import pathlib
import re
import sys

from check_file_heads import listed_by_git, walked

LINK = re.compile(r"\[[^\]]*\]\(([^)\s#]+)[^)]*\)")
CODE = re.compile(r"`([^`]+)`")
BLOCK = re.compile(r"(?ms)^\s*```.*?^\s*```\s*$")
ELSEWHERE = re.compile(r"<!--\s*elsewhere:(.*?)-->", re.DOTALL)
SOURCE = re.compile(r"^[\w*]+\.(?:c|h|cpp|hpp|cu|cuh|f90|py|sh|cmake|md)$")
# Files of other projects and of users that pages mention by name.
FOREIGN = {"mpi.h", "nccl.h", "cuda_runtime.h", "app.c", "main.c", "app.f90"}


def patterns(word):
    """Expands {a,b} in a word into several patterns."""
    braces = re.search(r"\{([^{}]*)\}", word)
    if not braces:
        return [word]
    heads = [word[: braces.start()] + part for part in braces[1].split(",")]
    return [p for head in heads for p in patterns(head + word[braces.end() :])]


class Tree:
    def __init__(self, root):
        files = listed_by_git(root)
        paths = [p.relative_to(root) for p in (walked(root) if files is None else files)]
        self.names = {path.name for path in paths}
        self.paths = {str(path) for path in paths}
        self.paths |= {str(folder) for path in paths for folder in path.parents}
        self.folders = {path.parts[0] for path in paths if len(path.parts) > 1}

    def has(self, word):
        return any(fnmatch.filter(self.paths, p.rstrip("/")) for p in patterns(word))

    def is_missing(self, code):
        """Returns whether inline code names a file or folder that is not in the repository."""
        word = code.split()[0] if code.split() else ""
        if "<" in word or "$" in word or "%" in word:
            return False
        if "/" in word:
            word = re.sub(r":\d+$", "", word)
            return word.split("/")[0] in self.folders and not self.has(word)
        if SOURCE.match(word) and word not in FOREIGN:
            return not fnmatch.filter(self.names, word)
        return False


def faults_of(page, tree):
    text = BLOCK.sub(lambda block: "\n" * block[0].count("\n"), page.read_text(encoding="utf-8"))
    elsewhere = {name for names in ELSEWHERE.findall(text) for name in names.split()}
    for number, line in enumerate(text.split("\n"), 1):
        for code in CODE.findall(line):
            if code not in elsewhere and tree.is_missing(code):
                yield f"{page}:{number}: no such file: {code}"
    for target in LINK.findall(text):
        if not re.match(r"\w+:", target) and not (page.parent / target).exists():
            yield f"{page}: no such file: {target}"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    tree = Tree(root)
    pages = [root / "README.md", *sorted(root.glob("docs/**/*.md")), *sorted(root.glob("perf/*.md"))]
    faults = [fault for page in pages for fault in faults_of(page, tree)]
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"{len(pages)} pages, {len(faults)} faults")
    return 1 if faults or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
