#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""check_paths.py ROOT: checks that files, folders and names of the code which pages mention exist.

Reads README.md and the Markdown pages of docs/ and perf/. Checks
  - targets of relative links, and of their anchors the heading of the page;
  - inline code that begins with a folder of the repository, such as `src/core/arena.hpp`. It may have
    the patterns `*` and `{a,b}`, of which one file must match. Text after a blank is ignored;
  - inline code that is the bare name of a source file, such as `arena.hpp`: some file must have it;
  - inline code that is a qualified name, such as `Arena::take`: one file must define the class,
    enumeration or namespace and have the member. Names of std are not checked;
  - inline code that is a name of two words or more, such as `SparseSpan` or `pack_all`: a source or
    a result of perf must have it, or a name that ends with it;
  - names of source files in blocks of text (```text), with or without folders.
Names of tests, such as `unit_core`, are not checked, because CMake composes them.
Names with <placeholders> or $VARIABLES are not checked, nor are those that a page lists in a comment
<!-- elsewhere: NAME ... -->.
"""

import fnmatch
import pathlib
import re
import sys

from check_file_heads import is_source, listed_by_git, walked

LINK = re.compile(r"\[[^\]]*\]\(([^)\s#]*)(?:#([^)\s]*))?[^)]*\)")
HEADING = re.compile(r"^#+ +(.*?) *$", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")
BLOCK = re.compile(r"(?ms)^\s*```(\w*)(.*?)^\s*```\s*$")
ELSEWHERE = re.compile(r"<!--\s*elsewhere:(.*?)-->", re.DOTALL)
ENDINGS = r"\.(?:c|h|cpp|hpp|cu|cuh|f90|py|sh|cmake|md)"
SOURCE = re.compile(rf"^[\w*]+{ENDINGS}$")
FILE_IN_TEXT = re.compile(rf"(?<![\w./<>$%])[\w./*{{}}-]*[\w*]{ENDINGS}(?![\w<])")
QUALIFIED = re.compile(r"^(?:\w+::)*(\w+)::(\w+)(?:\(\))?$")
TEST = re.compile(r"^(?:unit|ranks|misuse|mpi|ucx|gpu|fault|perf|test)_")
NAME = re.compile(r"^(?=\w*[a-z]\w*(?:[A-Z]|_\w))[A-Za-z]\w*(?:\(\))?$")
SCOPE = re.compile(
    r"\b(?:class|struct|enum|union|namespace)\s+(?:class\s+|alignas\([^)]*\)\s+)?"
    r"(?:\w+::)*(\w+)[^;{}()]*\{")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
# Files of other projects and of users that pages mention by name.
FOREIGN = {"mpi.h", "nccl.h", "cuda_runtime.h", "app.c", "main.c", "app.f90"}


def patterns(word):
    """Expands {a,b} in a word into several patterns."""
    braces = re.search(r"\{([^{}]*)\}", word)
    if not braces:
        return [word]
    heads = [word[: braces.start()] + part for part in braces[1].split(",")]
    return [p for head in heads for p in patterns(head + word[braces.end() :])]


class Names:
    """The words of all sources outside comments; for each class and namespace, those of its files."""

    def __init__(self, files):
        self.words = set()
        self.scopes = {}
        for path in files:
            if not is_source(path) and path.suffix != ".jsonl":
                continue
            text = path.read_text(encoding="utf-8", errors="replace")
            if path.suffix in {".c", ".h", ".cpp", ".hpp", ".cu", ".cuh"}:
                text = COMMENT.sub("", text)
            words = set(re.findall(r"\w+", text))
            self.words |= words
            for scope in SCOPE.findall(text):
                self.scopes.setdefault(scope, set()).update(words)

    def is_missing(self, code):
        """Returns whether inline code is a name that no source has."""
        qualified = QUALIFIED.match(code)
        if qualified:
            scope, member = qualified.groups()
            return not code.startswith("std::") and member not in self.scopes.get(scope, ())
        name = code.removesuffix("()")
        if not NAME.match(code) or TEST.match(code) or name in self.words:
            return False
        return not any(word.endswith(name) for word in self.words)


class Tree:
    def __init__(self, root):
        files = listed_by_git(root)
        files = list(walked(root)) if files is None else files
        paths = [p.relative_to(root) for p in files]
        self.code = Names(files)
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
        return self.code.is_missing(code)

    def is_missing_file(self, word):
        """Returns whether no file has this name, or this path below the root or below any folder."""
        if "/" not in word:
            return word not in FOREIGN and not fnmatch.filter(self.names, word)
        return not self.has(word) and not self.has(f"*/{word}")


def anchors_of(page):
    """Returns the anchors that a forge gives to the headings of a page."""
    anchors = []
    for heading in HEADING.findall(BLOCK.sub("", page.read_text(encoding="utf-8"))):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        count = sum(re.fullmatch(rf"{re.escape(anchor)}(-\d+)?", other) is not None for other in anchors)
        anchors.append(f"{anchor}-{count}" if count else anchor)
    return anchors


def faults_of(page, tree):
    text = page.read_text(encoding="utf-8")
    elsewhere = {name for names in ELSEWHERE.findall(text) for name in names.split()}
    # Blocks become empty lines, so that the numbers of lines stay.
    plain = BLOCK.sub(lambda block: "\n" * block[0].count("\n"), text)
    for number, line in enumerate(plain.split("\n"), 1):
        for code in CODE.findall(line):
            if code not in elsewhere and tree.is_missing(code):
                yield f"{page}:{number}: no such file or name: {code}"
    for block in BLOCK.finditer(text):
        if block[1] == "text":
            for word in FILE_IN_TEXT.findall(block[2]):
                if word not in elsewhere and tree.is_missing_file(word):
                    number = text.count("\n", 0, block.start(2)) + 1
                    yield f"{page}:{number}: no such file in this block: {word}"
    for target, anchor in LINK.findall(plain):
        if re.match(r"\w+:", target):
            continue
        linked = page.parent / target if target else page
        if not linked.exists():
            yield f"{page}: no such file: {target}"
        elif anchor and linked.suffix == ".md" and anchor not in anchors_of(linked):
            yield f"{page}: no such heading: {target}#{anchor}"


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
