#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""programs.py VERSION FILE PROGRAM...: writes the manual page of a program from what its --help writes.

The help has, in any order but each from the beginning of a line:
  - `usage: ...` or `Usage: ...`, with more lines that are indented;
  - paragraphs of text, of which the first sentence says what the program does;
  - `NAME:` alone on a line, before options or, indented, text that stays as it is (Examples:);
  - options, indented by two blanks, with their meaning behind two blanks or on further lines. Of these,
    a line that is indented further than the meaning is an example;
  - `exit status: ...`.
"""

import pathlib
import re
import subprocess
import sys
import textwrap

import roff

USAGE = re.compile(r"[Uu]sage:\s+(.*)")
OPTION = re.compile(r"  (-\S.*?)(?:\s{2,}(.*))?$")
EXIT = re.compile(r"[Ee]xit (?:status|code): ")
HEADING = re.compile(r"([A-Z][\w ]*):")


def option_line(text):
    """Returns the head of an option. Words that a reader replaces or reads are not bold."""
    names, _, rest = text.partition(" ")
    return roff.bold(names) + (f" {roff.literal(rest)}".replace(",", r",\:") if rest else "")


def option(lines):
    """Returns an option with its meaning. Examples stay as they are."""
    head = OPTION.match(lines[0])
    column = head.start(2) if head[2] else len(lines[1]) - len(lines[1].lstrip()) if len(lines) > 1 else 0
    made, text, examples = [".TP", option_line(head[1])], head[2] or "", []

    def flush():
        nonlocal text, examples
        made.extend(roff.lines_of(roff.escape(text)))
        if examples:
            made.extend([".RS", *roff.verbatim(examples), ".RE"])
        text, examples = "", []

    for line in lines[1:]:
        if len(line) - len(line.lstrip()) > column:
            examples.append(line[column:])
        else:
            if examples:
                flush()
            text += " " + line.strip()
    flush()
    return made


def blocks_of(text):
    """Returns the parts of a help text as pairs of a kind and lines."""
    blocks = []
    for line in text.expandtabs().splitlines():
        kind = blocks[-1][0] if blocks else "blank"
        heading = HEADING.fullmatch(line)
        if line.startswith(" ") and kind in ("section", "usage", "options"):
            if kind == "usage" and OPTION.match(line):
                blocks.append(("options", []))
        elif heading:
            blocks.append(("section", [heading[1]]))
            continue
        elif not line.strip():
            if kind != "section":
                blocks.append(("blank", []))
        elif USAGE.match(line):
            blocks.append(("usage", []))
            line = USAGE.match(line)[1]
        elif OPTION.match(line):
            blocks.append(("options", []))
        elif kind != "text" or EXIT.match(line):
            blocks.append(("text", []))
        blocks[-1][1].append(line)
    return blocks


class Help:
    """The parts of a help text, as lines of roff."""

    def __init__(self, name, text):
        self.name, self.summary = name, ""
        self.usage, self.description, self.options, self.sections, self.exit = [], [], [], [], []
        for kind, lines in blocks_of(text):
            if kind == "usage":
                self.usage += [line.strip() for line in lines]
            elif kind == "options" or kind == "section" and any(OPTION.match(line) for line in lines):
                self.add_options(lines if kind == "options" else lines[1:])
            elif kind == "section":
                body = textwrap.dedent("\n".join(lines[1:])).strip("\n").splitlines()
                self.sections.append((lines[0].upper(), roff.verbatim(body)))
            else:
                self.add_text(" ".join(line.strip() for line in lines))

    def add_options(self, lines):
        current = []
        for line in [*filter(str.strip, lines), "  -"]:
            if OPTION.match(line) or line == "  -":
                if current:
                    self.options += option(current)
                current = []
            current.append(line)

    def add_text(self, text):
        # "Exit code: ..." may be the end of a paragraph.
        text, _, status = re.sub(rf"(?:^|(?<=\. )){EXIT.pattern}", "\0", text).partition("\0")
        if status:
            self.exit = roff.lines_of(roff.escape(status))
        if not text.strip():
            return
        synopsis = re.match(rf"({re.escape(self.name)}(?: \S+)*): ", text)
        if synopsis:  # "program ARGUMENTS: what it does"
            self.usage.append(synopsis[1])
            text = text[synopsis.end():]
        if not self.summary:
            first = re.split(r"(?<=[.:]) ", text, maxsplit=1)[0].rstrip(".:")
            self.summary = first[:1].lower() + first[1:]
        self.description += [".PP", *roff.lines_of(roff.escape(text[:1].upper() + text[1:]))]


def main():
    version, target, *program = sys.argv[1:]
    path = pathlib.Path(target)
    done = subprocess.run([*program, "--help"], capture_output=True, text=True, timeout=60, check=True)
    parts = Help(path.stem, done.stdout)
    if not parts.usage or not parts.summary:
        raise SystemExit(f"{program[-1]} --help: expected a line 'usage: ...' and a sentence, got\n{done.stdout}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(roff.page(path.stem, 1, version, [
        ("NAME", [rf"{path.stem} \- {roff.escape(parts.summary)}"]), ("SYNOPSIS", roff.verbatim(parts.usage)),
        ("DESCRIPTION", parts.description), ("OPTIONS", parts.options), *parts.sections, ("EXIT STATUS", parts.exit),
        ("SEE ALSO", [".BR sparsecoll (7)"])]), encoding="utf-8")


if __name__ == "__main__":
    main()
