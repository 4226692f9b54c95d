#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""check_algorithms.py ROOT: compares every list of the algorithms with their table.

The table is kAlgorithms in src/calls/algorithm_info.hpp; its numbers are those of sparsecoll.h. Checks
  - sparsecollAlgo_t in sparsecoll.h: an enumerator for each row, with a name that differs only by case;
  - docs/algorithms.md: a row for each algorithm with its name in code, `v` if it has a coordinate
    form, and a link to its page docs/algorithms/<name>.md (Auto has a section instead);
  - the Fortran module: a constant with the same number for every enumerator of sparsecoll.h.
"""

import pathlib
import re
import sys

ID = re.compile(r"^  (\w+) = (sparsecollAlgo\w+),$", re.MULTILINE)
ROW = re.compile(r'\{\.id = AlgorithmId::(\w+),\s*\.name = "([\w-]+)"([^}]*)\}')
ENUMERATOR = re.compile(r"^  (sparsecoll\w+) = (-?\w+)", re.MULTILINE)
CONSTANT = re.compile(r"parameter, public :: (sparsecoll\w+) = (-?\d+)")


def table(root):
    """Returns {name: (enumerator of sparsecoll.h, has a coordinate form)} of kAlgorithms."""
    text = (root / "src/calls/algorithm_info.hpp").read_text()
    enumerator = dict(ID.findall(text))
    return {name: (enumerator[key], ".coordinate_form = false" not in rest) for key, name, rest in ROW.findall(text)}


def enumerators(root):
    text = (root / "include/sparsecoll/sparsecoll.h").read_text()
    found = {name: number for name, number in ENUMERATOR.findall(text)}
    return {name: int(number) for name, number in found.items() if not name.endswith("MaxEnum")}


def faults_of_header(algorithms, constants):
    known = {name: number for name, number in constants.items() if name.startswith("sparsecollAlgo")}
    faults = []
    for name, (enumerator, _) in algorithms.items():
        if enumerator not in known or enumerator.lower() != f"sparsecollalgo{name}":
            faults.append(f"sparsecoll.h: expected an enumerator for {name}, got {enumerator}")
    if list(known.values()) != list(range(len(known))):
        faults.append(f"sparsecoll.h: expected the numbers 0, 1, ... for the algorithms, got {known}")
    if len(known) != len(algorithms):
        faults.append(f"sparsecoll.h: expected {len(algorithms)} algorithms, got {len(known)}")
    return faults


def faults_of_pages(root, algorithms):
    rows = (root / "docs/algorithms.md").read_text().splitlines()
    faults = []
    for name, (_, coordinate_form) in algorithms.items():
        row = [line for line in rows if line.startswith("|") and f"| `{name}` |" in line]
        if len(row) != 1:
            faults.append(f"docs/algorithms.md: expected one row with `{name}`, got {len(row)}")
            continue
        link = "(#auto)" if name == "auto" else f"(algorithms/{name}.md)"
        if link not in row[0]:
            faults.append(f"docs/algorithms.md: the row of {name} has no link {link}")
        if ("`sparseAllreducev`" in row[0]) != coordinate_form:
            faults.append(f"docs/algorithms.md: {name} and `sparseAllreducev`, against the table")
    return faults


def faults_of_fortran(root, constants):
    text = (root / "src/fortran/types.f90").read_text()
    fortran = {name: int(number) for name, number in CONSTANT.findall(text)}
    return [
        f"types.f90: {name}: expected {constants.get(name)}, got {fortran.get(name)}"
        for name in sorted(constants.keys() | fortran.keys())
        if constants.get(name) != fortran.get(name)
    ]


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    algorithms, constants = table(root), enumerators(root)
    if len(algorithms) < 2 or not constants:
        print(f"no table of algorithms below {root}")
        return 1
    faults = faults_of_header(algorithms, constants)
    faults += faults_of_pages(root, algorithms)
    faults += faults_of_fortran(root, constants)
    print("\n".join(faults + [f"{len(algorithms)} algorithms, {len(constants)} constants, {len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
