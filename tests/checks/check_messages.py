#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""check_messages.py ROOT: checks that docs/messages.md explains all messages of the sources, and no others.

The messages of the page are the inline code in the first column of its tables, where `...` and NAME stand for what
differs. A message of the page explains one of the sources if that has all of its words in the same order, and if they
have at least half of its letters; words that most messages have do not count.
"""

import pathlib
import re
import sys

from message_makers import HOLE
from messages_in_sources import find_messages, strings_of

PAGE = "docs/messages.md"
GAP = re.compile(r"\.\.\.|\bNAME\b")
TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")
COMMON = re.compile(r"\b(?:expected|got|path)\b")
NAME = re.compile(r"[\w.()=]+")
FRONT = re.compile(r"^[\w.]+: ")
ARGUMENT = re.compile(r"^[\w.]+:? '?")  # the name of an argument, which the library often adds


def letters(text):
    return sum(letter.isalnum() for letter in COMMON.sub("", text))


class Explained:
    """A message of the page."""

    def __init__(self, text):
        self.text = text
        self.begins = not GAP.match(text)  # else it explains messages with any name in front
        self.words = [words for words in (part.strip(" ,;:'") for part in GAP.split(text)) if words]

    def covers(self, message):
        """Returns how many letters of a message these are; None if some are not in it."""
        at = found = 0
        for i, words in enumerate(self.words):
            choices = [words, ARGUMENT.sub("", words)] if i == 0 else [words]
            choice = next((each for each in choices if each and message.find(each, at) >= 0), None)
            if choice is None and not (i == 0 and NAME.fullmatch(words)):
                return None
            if choice is not None:
                at = message.find(choice, at) + len(choice)
                found += letters(choice)
        return found

    def explains(self, message):
        covered = self.covers(message)
        counted = message if self.begins else FRONT.sub("", message)
        return covered is not None and 2 * covered >= letters(counted)

    def is_said(self, messages, strings):
        """Returns whether a message, or strings of the sources, have these words."""
        def is_part(words):
            return NAME.fullmatch(words) or any(each in string for each in (words, ARGUMENT.sub("", words))
                                                for string in strings)
        return any(self.covers(message) is not None for message in messages) or all(map(is_part, self.words))


def read_page(text):
    """Returns the messages of the page, and the faults of its tables."""
    explained, faults = [], []
    for table in TABLE.findall(text):
        head, _, *rows = table.splitlines()
        for row in rows:
            cells = [cell.strip() for cell in row.strip("|").split(" | ")]
            explained += map(Explained, CODE.findall(cells[0]))
            if len(cells) != head.count("|") - 1 or not all(cells):
                faults.append(f"{PAGE}: a cell is missing or empty: {row}")
    return explained, faults


def main():
    root = pathlib.Path(sys.argv[1])
    explained, faults = read_page((root / PAGE).read_text(encoding="utf-8"))
    messages, unknown = find_messages(root)
    faults += unknown
    texts, strings = {message.text for message in messages}, strings_of(root)
    faults += [f"{PAGE}: the sources do not say: {each.text}" for each in explained
               if not each.is_said(texts, strings)]
    faults += [f"{message.path}:{message.line}: {PAGE} does not explain: {message.text.strip().replace(HOLE, '...')}"
               for message in messages if not any(each.explains(message.text) for each in explained)]
    print(*faults, f"{len(messages)} messages in the sources, {len(explained)} on the page, {len(faults)} faults",
          sep="\n")
    return 1 if faults or not messages or not explained else 0


if __name__ == "__main__":
    sys.exit(main())
