#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""check_needed.py READELF LIBRARY [LIBRARY_FOR_MPI]: checks which libraries the shared libraries need.

libsparsecoll.so needs the system's libraries and hwloc: MPI, UCX, NCCL and CUDA are for those who use
them. libsparsecoll_mpi.so needs an MPI, and of libsparsecoll.so the very same version."""

import pathlib
import re
import subprocess
import sys

ALLOWED = re.compile(r"lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|c\+\+|c\+\+abi|atomic|hwloc)\.so|ld-linux|ld64")


def needed_by(readelf, library):
    table = subprocess.run([readelf, "-dW", library], check=True, capture_output=True, text=True).stdout
    return re.findall(r"\(NEEDED\)\s+Shared library: \[(.*)\]", table)


def faults_of(readelf, library, library_for_mpi):
    needed = needed_by(readelf, library)
    faults = [f"{library} needs {name}" for name in needed if not ALLOWED.match(name)]
    if not needed:
        faults.append(f"{library}: no library that it needs was read")
    if library_for_mpi:
        needed = needed_by(readelf, library_for_mpi)
        if not any(re.match(r"libmpi", name) for name in needed):
            faults.append(f"{library_for_mpi} needs no MPI")
        versions = subprocess.run([readelf, "-VW", library_for_mpi], check=True, capture_output=True,
                                  text=True).stdout
        private = f"SPARSECOLL_PRIVATE_{pathlib.Path(library).resolve().name.partition('.so.')[2]}"
        if not re.search(rf"Name: {re.escape(private)}\s", versions):
            faults.append(f"{library_for_mpi} accepts another version than {private}")
    return faults


def main():
    readelf, library, *library_for_mpi = sys.argv[1:]
    faults = faults_of(readelf, library, library_for_mpi[0] if library_for_mpi else None)
    print("\n".join(faults + [f"{len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
