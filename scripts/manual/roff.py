# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Text in roff, the language of manual pages."""

import datetime
import os
import re

SPECIAL = {"\\": r"\e", "^": r"\(ha", "~": r"\(ti", "`": r"\(ga", "\u2013": r"\(en"}


def escape(text):
    """Returns prose in which nothing is markup. A hyphen inside of a word stays one."""
    text = "".join(SPECIAL.get(letter, letter) for letter in text)
    return re.sub(r"(?<![A-Za-z])-|-(?![A-Za-z])", r"\\-", text)


def literal(text):
    """The same for code: what a reader copies from the page is the text."""
    text = "".join(SPECIAL.get(letter, letter) for letter in text)
    return text.replace("-", r"\-").replace("'", r"\(aq")


def bold(text):
    return rf"\fB{literal(text)}\fP"


def italic(text):
    return rf"\fI{literal(text)}\fP"


def lines_of(text):
    """Returns a paragraph as lines: a sentence begins a new one, and none begins with a control character."""
    text = " ".join(text.split())
    lines = re.split(r"(?<=[.:;!?]) (?=[A-Z\\])", text) if text else []
    return [rf"\&{line}" if line[0] in ".'" else line for line in lines]


def verbatim(lines, format_line=literal):
    """Returns lines that stay as they are."""
    made = [format_line(line) for line in lines]
    return [".nf", *(rf"\&{line}" if line[:1] in (".", "'") else line for line in made), ".fi"]


def date():
    """Returns today's date, or the one that a reproducible build asks for."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    now = datetime.datetime.now(datetime.timezone.utc)
    return (datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc) if seconds else now).strftime("%Y-%m-%d")


def page(name, section, version, sections):
    """Returns a page. `sections` has pairs of a heading and lines; those without lines are left out."""
    lines = [f'.TH "{literal(name)}" "{section}" "{date()}" "sparsecoll {version}" "sparsecoll"']
    lines += [".nh", ".ad l"]  # names that are divided cannot be searched for
    for heading, body in sections:
        if body:
            lines += [f".SH {heading}", *(body[1:] if body[0] == ".PP" else body)]
    return "\n".join(lines) + "\n"
