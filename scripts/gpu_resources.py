#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""gpu_resources.py [OPTIONS] FILE.cu... -- NVCC_FLAG...

Prints the resources that the CUDA kernels need on each architecture, as the assembler reports them:
registers of a thread, shared memory of a block, and bytes of a stack frame (arrays that are not in
registers) and of spills, which are both in local memory. The table is Markdown. Exits with 1 if a
kernel uses local memory, because all kernels are bound by memory bandwidth; --may-use-local names
exceptions. With --worst, all instantiations of a kernel share a row. Needs nvcc and no GPU.

The target gpu_resources of a build with CUDA calls it with the build's own flags:
    cmake --build build/gpu --target gpu_resources"""

import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import NamedTuple

ENTRY = re.compile(r"Compiling entry function '(\S+)' for '(sm_\d+)\w*'")
LOCAL = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")
SHORTER = (
    (r"\(anonymous namespace\)::|sparsecoll::(\w+::)?(?=\w)", ""),
    (r"^void ", ""),
    (r"\bunsigned int\b", "uint32_t"),
    (r"\bunsigned long\b", "uint64_t"),
    (r"\bunsigned short\b", "uint16_t"),
    (r"\(bool\)([01])", r"\1"),
    (r" >", ">"),
)


class Resources(NamedTuple):
    registers: int
    shared: int
    stack: int
    spilled: int

    def local(self):
        return self.stack > 0 or self.spilled > 0


def readable(symbols, demangler):
    """Returns the names in the source, without namespaces, return types and parameters."""
    done = subprocess.run([demangler], input="\n".join(symbols), capture_output=True, text=True,
                          check=True)
    names = {}
    for symbol, name in zip(symbols, done.stdout.splitlines()):
        depth, end = 0, len(name)
        for at, letter in enumerate(name):  # parameters begin at the first ( outside all <>
            depth += (letter == "<") - (letter == ">")
            if letter == "(" and depth == 0 and not name.startswith("(anonymous", at):
                end = at
                break
        name = name[:end]
        for pattern, to in SHORTER:
            name = re.sub(pattern, to, name)
        names[symbol] = name
    return names


def parse(report):
    """Returns {(symbol, architecture): Resources} from the output of ptxas -v."""
    found, entry, stack, spilled = {}, None, 0, 0
    for text in report.splitlines():
        if match := ENTRY.search(text):
            entry, stack, spilled = match.groups(), 0, 0
        elif match := LOCAL.search(text):
            stack, spilled = int(match[1]), int(match[2]) + int(match[3])
        elif entry and (match := USED.search(text)):
            shared = SHARED.search(text)
            found[entry] = Resources(int(match[1]), int(shared[1]) if shared else 0, stack, spilled)
            entry = None
    return found


def compile_file(source, options):
    """Returns the assembler's report on one file, for all architectures."""
    with tempfile.TemporaryDirectory() as folder:
        command = [options.nvcc, *options.flags, "-Xptxas", "-v", "-fatbin", str(source), "-o",
                   f"{folder}/kernels.fatbin"]
        for architecture in options.architectures.split(","):
            command += ["-gencode", f"arch=compute_{architecture},code=sm_{architecture}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            sys.exit(f"no compiler {options.nvcc}: name one by --nvcc")
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return done.stderr


def table(kernels, architectures):
    def of_all(each, what):
        values = [str(each[a][what]) if a in each else "-" for a in architectures]
        return values[0] if len(set(values)) == 1 else " / ".join(values)

    yield (f"| kernel | registers ({', '.join(architectures)}) | shared memory (B) "
           "| stack frame (B) | spilled (B) |")
    yield "|---|---|---|---|---|"
    for name, each in sorted(kernels.items()):
        cells = [of_all(each, what) for what in range(len(Resources._fields))]
        yield f"| `{name}` | {' | '.join(cells)} |"


def worst(kernels):
    """Returns {kernel without its types: {architecture: largest need of any instantiation}}."""
    families = {}
    for name, each in kernels.items():
        family = families.setdefault(name.split("<", maxsplit=1)[0], {})
        for architecture, resources in each.items():
            most = family.get(architecture, resources)
            family[architecture] = Resources(*map(max, most, resources))
    return families


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--demangler", default="c++filt")
    parser.add_argument("--architectures", default="80,90,100")
    parser.add_argument("--jobs", type=int, default=1, help="number of files to compile at the same time")
    parser.add_argument("--only", default="", help="regular expression: only these kernels")
    parser.add_argument("--may-use-local", default="$^",
                        help="regular expression: these kernels may use local memory")
    parser.add_argument("--worst", action="store_true", help="one row for all types of a kernel")
    parser.add_argument("sources", nargs="+", type=pathlib.Path)
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:at])
    options.flags = words[at + 1:]
    return options


def main():
    options = arguments()
    found = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for report in pool.map(lambda source: compile_file(source, options), options.sources):
            found.update(parse(report))
    names = readable(sorted({symbol for symbol, _ in found}), options.demangler)
    kernels = {}
    for (symbol, architecture), resources in found.items():
        if re.search(options.only, names[symbol]):
            kernels.setdefault(names[symbol], {})[architecture] = resources
    architectures = [f"sm_{number}" for number in options.architectures.split(",")]
    print("\n".join(table(worst(kernels) if options.worst else kernels, architectures)))
    local = sorted(name for name, each in kernels.items() if any(r.local() for r in each.values()))
    print(f"\n{len(kernels)} kernels, {len(local)} with local memory")
    if local:
        print("", *table({name: kernels[name] for name in local}, architectures), sep="\n")
    faults = [name for name in local if not re.search(options.may_use_local, name)]
    return 1 if faults or not kernels else 0


if __name__ == "__main__":
    sys.exit(main())
