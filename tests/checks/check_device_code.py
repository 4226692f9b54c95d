#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""check_device_code.py NVCC FILE.cu... -- FLAG...: checks that no kernel of these files has a trap of the
compiler.

nvcc compiles a trap, and reports nothing, where a constexpr function that a kernel calls takes the
address of a global constant, for example for std::min(). The emulator of a GPU cannot find this,
because for the host's compiler the code is valid. Traps in inline assembly are on purpose: those of
cooperative groups."""

import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

ENTRY = re.compile(r"\.(?:entry|func)\b.*?(\w+)\(")
TRAP = re.compile(r"(?:@!?%p\d+\s+)?trap;")
FLAGS_OF_TEST = ["--expt-relaxed-constexpr", "-diag-suppress=177"]


def traps_of(ptx):
    """Returns the kernels and functions in which the compiler has put a trap."""
    found, entry, before = [], "?", ""
    for line in ptx.splitlines():
        if match := ENTRY.search(line):
            entry = match[1]
        text = line.strip()
        if TRAP.match(text) and before != "// begin inline asm":
            found.append(entry)
        before = text
    return found


def compile_file(nvcc, source, flags):
    with tempfile.NamedTemporaryFile(suffix=".ptx") as to:
        subprocess.run([nvcc, *flags, "-ptx", "-arch=sm_90", source, "-o", to.name], check=True)
        return to.read().decode()


def test_itself():
    """Checks that a trap is found in code with the fault, and none without it."""
    fault = """constexpr int kMost = 5;
constexpr const int& least(const int& a, const int& b) { return a < b ? a : b; }
constexpr int limited(int x) { return least(x, kMost); }
__global__ void limit(int* x) { *x = limited(*x); }
"""
    for source, traps in ((fault, 1), (fault.replace("kMost)", "5)"), 0)):
        with tempfile.NamedTemporaryFile("w", suffix=".cu") as file:
            file.write(source)
            file.flush()
            try:
                found = traps_of(compile_file(sys.argv[1], file.name, FLAGS_OF_TEST))
            except subprocess.CalledProcessError:
                if traps:
                    continue  # a compiler that reports the fault is welcome
                raise
        if len(found) != traps:
            sys.exit(f"expected {traps} trap(s), found {found} in:\n{source}")


def main():
    at = sys.argv.index("--")
    nvcc, sources, flags = sys.argv[1], sys.argv[2:at], sys.argv[at + 1:]
    test_itself()
    faults = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for source, ptx in zip(sources, pool.map(lambda name: compile_file(nvcc, name, flags), sources)):
            if ".entry" not in ptx:
                faults.append(f"{source}: no kernel was compiled")
            faults += [f"{source}: {entry} has a trap" for entry in traps_of(ptx)]
    print("\n".join(faults) or f"{len(sources)} files, no trap")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
