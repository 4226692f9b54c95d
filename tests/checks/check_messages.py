#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""check_messages.py ROOT: checks that the library has the messages that docs/messages.md explains.

A message is the inline code in the first column of a table. The words between its dots must be in a string of
src/, without the name of an argument in front of them, which the library adds.
"""

import pathlib
import re
import sys

STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
NAME = re.compile(r"[\w.()=]+")
BEGINNING = re.compile(r"^[\w.]+:? '?")  # the name of an argument


def strings_of(root):
    """Returns the strings of all sources, those that the compiler joins as one."""
    strings = []
    for path in sorted(root.glob("src/**/*.[ch]pp")) + sorted(root.glob("src/**/*.cu")):
        text = re.sub(r'"\s*\n\s*"', "", path.read_text(encoding="utf-8"))
        strings += [string.replace('\\"', '"') for string in STRING.findall(text)]
    return strings


def is_said(words, strings):
    """Returns whether a string has these words, or all but the name of an argument in front of them."""
    words = words.strip(" ,;:'")
    if not words or NAME.fullmatch(words):
        return True
    return any(part in string for part in (words, BEGINNING.sub("", words)) for string in strings)


def main():
    root = pathlib.Path(sys.argv[1])
    strings = strings_of(root)
    page = (root / "docs/messages.md").read_text(encoding="utf-8")
    checked, faults = 0, []
    for row in re.findall(r"^\| (`.*?) \|", page.partition("\n## An argument")[2], re.MULTILINE):
        for message in re.findall(r"`([^`]+)`", row):
            checked += 1
            faults += [f"docs/messages.md: the library does not say '{words}': {message}"
                       for words in re.split(r"\.\.\.", message) if not is_said(words, strings)]
    print(*faults, f"{checked} messages, {len(faults)} faults", sep="\n")
    return 1 if faults or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
