# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the messages that the library, its wrappers, the tools and the perf programs can give."""

import ast
import re

from message_makers import HOLE
from messages_in_cpp import WORD, Message, Source

FOLDERS = ("include", "src", "tools", "perf")
SUFFIXES = {".cpp", ".hpp", ".cu", ".cuh"}
DIE = re.compile(r"""\bdie "((?:[^"\\]|\\.)*)"([^\n;]*)""")
TESTS = re.compile(r"(?:^|[/_])test_|_test\.|^perf/results/")


def words_of_python(node):
    """Returns the string of an expression of Python, with a hole for each value."""
    if isinstance(node, ast.Constant):
        return str(node.value) if isinstance(node.value, str) else HOLE
    if isinstance(node, ast.JoinedStr):
        return "".join(words_of_python(part) for part in node.values)
    if isinstance(node, ast.BinOp):
        return words_of_python(node.left) + words_of_python(node.right)
    return HOLE


def messages_of_python(path, text):
    for node in ast.walk(ast.parse(text)):
        call = node.exc if isinstance(node, ast.Raise) else node
        if not isinstance(call, ast.Call):
            continue
        name = ast.unparse(call.func)
        if isinstance(node, ast.Raise) or name in ("sys.exit", "warnings.warn"):
            for argument in call.args:
                words = words_of_python(argument)
                if len(WORD.findall(words)) > 1:
                    yield Message(path, node.lineno, re.sub("\0+", HOLE, words))


def messages_of_shell(path, text):
    usual = re.search(r'exit "\$\{2:-(\d)\}"', text)
    for match in DIE.finditer(text):
        status = match[2].split()[0] if match[2].strip() else usual[1] if usual else ""
        if status != "2":  # a bad option, whose message explains itself
            words = re.sub(r"\$\w+|\$\{[^}]*\}|\$\([^)]*\)|\$\d", HOLE, match[1])
            yield Message(path, text.count("\n", 0, match.start()) + 1, words)


def find_messages(root):
    """Returns the messages of a repository, and the faults."""
    messages, faults = [], []
    for path in sorted(path for folder in FOLDERS for path in (root / folder).rglob("*")):
        name = path.relative_to(root).as_posix()
        if not path.is_file() or TESTS.search(name):
            continue
        if path.suffix in SUFFIXES:
            source = Source(name, path.read_text(encoding="utf-8"))
            source.read()
            messages += source.messages
            faults += source.faults
        elif path.suffix in ("", ".py", ".sh"):
            text = path.read_text(encoding="utf-8")
            if path.suffix == ".py" or text.startswith("#!/usr/bin/env python3"):
                messages += messages_of_python(name, text)
            elif text.startswith("#!") or path.suffix == ".sh":
                messages += messages_of_shell(name, text)
    return messages, faults


def strings_of(root):
    """Returns the strings of the C++ sources, those that the compiler joins as one."""
    strings = []
    for path in sorted(path for folder in FOLDERS for path in (root / folder).rglob("*") if path.suffix in SUFFIXES):
        text = re.sub(r'"\s*\n\s*"', "", path.read_text(encoding="utf-8"))
        strings += [string.replace('\\"', '"') for string in re.findall(r'"((?:[^"\\\n]|\\.)*)"', text)]
    return strings
