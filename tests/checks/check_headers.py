#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""check_headers.py --include DIR --version X.Y.Z [--mpi-include DIR]... HEADER...

Compiles each public header alone, included twice, with gcc and clang as far as they are installed.
All warnings are errors. A .h is compiled as C99, C11, C++17 and C++20, a .hpp as C++17 and C++20.
Compares SPARSECOLL_VERSION with the version of the build.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys

WARNINGS = ["-pedantic-errors", "-Wall", "-Wextra", "-Wshadow", "-Werror"]
DIALECTS = [
    (["gcc", "clang"], ["-x", "c", "-std=c99", "-Wstrict-prototypes", "-Wc++-compat"]),
    (["gcc", "clang"], ["-x", "c", "-std=c11"]),
    (["g++", "clang++"], ["-x", "c++", "-std=c++17", "-Wold-style-cast"]),
    (["g++", "clang++"], ["-x", "c++", "-std=c++20"]),
]
# Compiles the initializers, too.
BODY = """
int main(void) {
  sparsecollConfig_t config = SPARSECOLL_CONFIG_INITIALIZER;
  sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
  sparsecollSparse_t sparse = SPARSECOLL_SPARSE_INITIALIZER;
  return config.size + stats.size + sparse.size == 0;
}
"""


def compile_alone(compiler, dialect, header, includes):
    program = f"#include <{header}>\n#include <{header}>\n{BODY}"
    command = [compiler, *dialect, *WARNINGS, "-fsyntax-only", *includes, "-"]
    done = subprocess.run(command, input=program, capture_output=True, text=True)
    if done.returncode == 0:
        return True
    print(f"{' '.join(command)}  # {header}\n{done.stderr}")
    return False


def header_version(path):
    number = int(re.search(r"#define SPARSECOLL_VERSION (\d+)", path.read_text())[1])
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--include", type=pathlib.Path, required=True)
    parser.add_argument("--mpi-include", action="append", default=[])
    parser.add_argument("--version", required=True)
    parser.add_argument("headers", nargs="+")
    options = parser.parse_args()

    includes = ["-I", str(options.include)]
    for folder in options.mpi_include:
        includes += ["-isystem", folder]
    includes += ["-DOMPI_SKIP_MPICXX=1", "-DMPICH_SKIP_MPICXX=1"]

    results = []
    for compilers, dialect in DIALECTS:
        for compiler in filter(shutil.which, compilers):
            for header in options.headers:
                if header.endswith(".hpp") and "c++" not in dialect:
                    continue
                results.append(compile_alone(compiler, dialect, header, includes))
    version = header_version(options.include / "sparsecoll/sparsecoll.h")
    if version != options.version:
        print(f"the header says version {version}, CMake {options.version}")
        results.append(False)
    print(f"{len(results)} compilations, {results.count(False)} faults")
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
