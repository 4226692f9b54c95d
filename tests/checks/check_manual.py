#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""check_manual.py FOLDER --functions LIST... --programs NAME...: checks the manual pages in FOLDER.

LIST has a line "NAME VERSION" for each function. Checks
  - that there is a page for each function and each program;
  - that a page has the sections that readers expect, and its NAME in the form that `man -k` needs;
  - that pages to which it refers exist;
  - that groff and mandoc, of these what is installed, find nothing to warn of.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys

SECTIONS = {"1": ("NAME", "SYNOPSIS", "DESCRIPTION", "SEE ALSO"), "7": ("NAME", "DESCRIPTION", "FUNCTIONS")}
OF_TYPES, OF_FUNCTIONS = ("NAME", "SYNOPSIS", "SEE ALSO"), ("NAME", "SYNOPSIS", "RETURN VALUE", "SEE ALSO")
REFERENCE = re.compile(r"(?:\\fB|^\.BR )([\w\\-]+)(?:\\fP| )\(([1-8])\)", re.MULTILINE)


def parts_of(text):
    """Returns a dictionary from the headings of a page to what is below."""
    parts = re.split(r"^\.SH (.*)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def faults_of(path, pages):
    name, section = path.stem, path.suffix[1:]
    text = path.read_text(encoding="utf-8")
    parts = parts_of(text)
    is_function = re.search(rf"\b{name}\(", parts.get("SYNOPSIS", "")) and section == "3"
    for heading in OF_FUNCTIONS if is_function else SECTIONS.get(section, OF_TYPES):
        if not parts.get(heading, "").strip():
            yield f"{path.name}: no section {heading}"
    if not re.fullmatch(rf"{re.escape(name)} \\- \S.*\n", parts.get("NAME", "")):
        yield f"{path.name}: NAME: expected '{name} - what it does', got '{parts.get('NAME', '').strip()}'"
    for other in {f"{page}.{number}".replace("\\", "") for page, number in REFERENCE.findall(text)} - pages:
        yield f"{path.name}: refers to {other}, which does not exist"


def warnings_of(paths):
    """Returns what groff and mandoc say, and the names of those that are missing."""
    warnings, missing = [], []
    for command in (["groff", "-man", "-ww", "-z", "-Tutf8"], ["mandoc", "-T", "lint", "-W", "warning"]):
        if shutil.which(command[0]) is None:
            missing.append(command[0])
            continue
        # groff takes all files for one text.
        for files in [[path] for path in paths] if command[0] == "groff" else [paths]:
            done = subprocess.run([*command, *files], capture_output=True, text=True, timeout=60, check=False)
            warnings += (done.stdout + done.stderr).splitlines()
    return warnings, missing


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--functions", nargs="+", type=pathlib.Path, required=True)
    parser.add_argument("--programs", nargs="*", default=[])
    options = parser.parse_args()
    paths = sorted(options.folder.glob("man[1-8]/*"))
    pages = {path.name for path in paths}
    functions = {line.split()[0] for path in options.functions for line in path.read_text().splitlines()}
    wanted = {f"{name}.3" for name in functions} | {f"{name}.1" for name in options.programs}
    faults = [f"no page: {name}" for name in sorted(wanted - pages)]
    for path in paths:
        faults += faults_of(path, pages)
    warnings, missing = warnings_of(paths)
    print(*faults, *warnings, *(f"not installed here: {name}" for name in missing), sep="\n")
    print(f"{len(pages)} pages, {len(functions)} functions, {len(faults)} faults, {len(warnings)} warnings")
    return 1 if faults or warnings else 0


if __name__ == "__main__":
    sys.exit(main())
