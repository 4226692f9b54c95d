#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""check_includes.py ROOT: checks the includes between the layers of ROOT/src.

Includes point down only: api -> collectives -> calls -> {kernels | transport} -> core. Kernels and
transport do not include each other. Only files named mpi* (in api: *mpi*) include headers of MPI, and
only files named cuda* or nccl* those of CUDA and NCCL, and only core/hwloc* that of hwloc, only
transport/ucx those of UCX. CMake chooses the files to build; #if does not.
"""

import pathlib
import re
import sys

BELOW = {
    "core": {"core"},
    "kernels": {"kernels", "core"},
    "transport": {"transport", "core"},
    "calls": {"calls", "kernels", "transport", "core"},
    "collectives": {"collectives", "calls", "kernels", "transport", "core"},
    "api": {"api", "collectives", "calls", "kernels", "transport", "core"},
}
SUFFIXES = {".cpp", ".hpp", ".h", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
CHOICE = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif)\b.*(CUDA|NCCL|MPI|HWLOC|UCX)")
GUARD = re.compile(r"^\s*#\s*ifndef\s+SPARSECOLL_\w+_H(PP)?_\s*$")
MPI_HEADER = re.compile(r"^(mpi\.h|mpi-ext\.h|sparsecoll/sparsecoll_mpi\.h)$")
GPU_HEADER = re.compile(r"^(cuda|nccl|nvtx|cub/|thrust/)")


def may_see_mpi(path):
    layer, *names = path.parts
    if layer == "transport":
        return any(name.startswith("mpi") for name in names)
    return layer == "api" and "mpi" in path.name


def may_see_gpu(path):
    return path.parts[0] not in ("collectives", "calls") and bool(re.search(r"cuda|nccl|\.cuh?$", str(path)))


def resolve(source, path, header):
    """Returns the file of src/ that source/path includes as `header`, or None for other headers."""
    for candidate in (source / header, source / path.parent / header):
        if candidate.is_file():
            return pathlib.PurePath(candidate.resolve().relative_to(source))
    return None


def faults_of_include(source, path, found):
    """Returns what is wrong with an include; `found` is the match of INCLUDE."""
    quoted, header = found[1] == '"', found[2]
    if MPI_HEADER.match(header):
        return [] if may_see_mpi(path) else [f"{header} outside the files for MPI"]
    if header == "hwloc.h" or header.startswith("hwloc/"):
        return [] if path.parts[0] == "core" and path.name.startswith("hwloc") else [f"{header} outside core/hwloc*"]
    if header.startswith(("ucp/", "ucs/", "uct/")):
        return [] if path.parts[:2] == ("transport", "ucx") else [f"{header} outside transport/ucx"]
    if GPU_HEADER.match(header):
        return [] if may_see_gpu(path) else [f"{header} outside the files for CUDA and NCCL"]
    target = resolve(source, path, header)
    if target is None:
        public = (source.parent / "include" / header).is_file()
        return [f"no such file: {header}"] if quoted and not public else []
    if target.parts[0] not in BELOW[path.parts[0]]:
        return [f"{path.parts[0]} includes {target}, which is not below it"]
    if may_see_mpi(target) and not may_see_mpi(path):
        return [f"{target} outside the files for MPI"]
    return []


def faults_of_file(source, path):
    if path.parts[0] not in BELOW:
        return [f"src/{path}: not in a layer ({', '.join(BELOW)})"]
    faults = []
    for number, line in enumerate((source / path).read_text().splitlines(), 1):
        found = INCLUDE.match(line)
        wrong = faults_of_include(source, path, found) if found else []
        if CHOICE.match(line) and not GUARD.match(line):
            wrong.append("CMake chooses files by MPI, CUDA and NCCL; code does not")
        faults += [f"src/{path}:{number}: {fault}" for fault in wrong]
    return faults


def main():
    source = pathlib.Path(sys.argv[1]).resolve() / "src"
    files = sorted(p for p in source.rglob("*") if p.suffix in SUFFIXES)
    if not files:
        print(f"no source file below {source}")
        return 1
    faults = [f for path in files for f in faults_of_file(source, path.relative_to(source))]
    print("\n".join(faults + [f"{len(files)} files, {len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
