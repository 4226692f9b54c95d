#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""report_skipped.py RESULTS CACHE: prints what a run of the tests left out, and what was missing.

RESULTS is the file that ctest --output-junit writes, CACHE the CMakeCache.txt of the build.
"""

import re
import sys
import xml.etree.ElementTree

# A variable of the cache that is empty, OFF or NOTFOUND, and what is not built without it.
NOT_BUILT = {
    "CMAKE_CUDA_COMPILER": "kernels for GPUs (they ran on the emulator)",
    "NCCL_INCLUDE_DIR": "the transport over NCCL (it ran over a stand-in)",
    "SPARSECOLL_DOXYGEN": "the reference of the API and the manual pages (no doxygen)",
    "SPARSECOLL_MPI": "everything over MPI (SPARSECOLL_MPI=OFF)",
    "SPARSECOLL_FORTRAN": "the Fortran module (SPARSECOLL_FORTRAN=OFF or no compiler)",
}
# The same for a variable that only some builds have.
NOT_FOUND = {
    "SPARSECOLL_PKG_CONFIG": "consumers that use pkg-config (no pkg-config)",
    "Torch_DIR": "the example for LibTorch (no libtorch-dev)",
}


def reason_of(test):
    """Returns what the skipped test printed about the reason."""
    output = test.findtext("system-out") or ""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for line in lines:
        if line.startswith("SKIPPED: "):
            return line.removeprefix("SKIPPED: ")
    # A program of perf prints "NAME: OPTION: REASON".
    return re.sub(r"^\w+: (--\w+ \w+: )?", "", lines[0]) if lines else "it printed no reason"


def skipped_tests(results):
    """Returns a dictionary from reasons to the tests that were skipped for them."""
    reasons = {}
    for test in xml.etree.ElementTree.parse(results).getroot().iter("testcase"):
        if test.find("skipped") is not None:
            reasons.setdefault(reason_of(test), []).append(test.get("name"))
    return reasons


def missing_parts(cache):
    """Returns what the build lacks."""
    values = {}
    with open(cache, encoding="utf-8") as lines:
        for line in lines:
            if match := re.match(r"(\w+):\w+=(.*)", line):
                values[match[1]] = match[2]
    absent = re.compile(r"(|OFF|0|FALSE|.*NOTFOUND)")
    parts = NOT_BUILT | {name: part for name, part in NOT_FOUND.items() if name in values}
    return [part for name, part in parts.items() if absent.fullmatch(values.get(name, ""))]


def main():
    results, cache = sys.argv[1:]
    reasons = skipped_tests(results)
    for reason, names in sorted(reasons.items()):
        shown = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
        print(f"skipped, {len(names)}: {reason}: {shown}")
    for part in missing_parts(cache):
        print(f"not built: {part}")
    if not reasons:
        print("no test was skipped")


if __name__ == "__main__":
    main()
