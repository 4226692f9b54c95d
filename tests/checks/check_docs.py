#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles every fenced code block of README.md, docs/ and perf/.

The language of a block determines its check:
  c, cpp  A block with a main() is compiled and linked. Any other block is compiled inside a
          function, with the public headers and common standard headers; its #include lines are
          moved to the top. Headers of src/ and tests/ are found as "core/..." and "support/...".
          C is C99, C++ is C++20, warnings are errors.
  fortran A block with a program is compiled and linked. Any other block is compiled inside a
          program that uses the modules sparsecoll, iso_c_binding and, with MPI, mpi_f08. Without
          a Fortran module such blocks are skipped.
  cmake   The block is configured and built as a project against an installation. The source files
          that it names are empty programs.
  sh      bash -n checks the syntax. A command that is a relative path must be in the repository.
  json    The block is parsed.
  python  The block is compiled. With the mark `run` it is run with src/python, by the Python that
          tests/python/run.sh finds, if one has its modules.
  text    The block is not checked, unless it has the mark `output`. Any other language, or none, is a fault.
Comments right before a block change its check:
  <!-- run -->      The program or script is run and must exit with 0.
  <!-- run: 4 -->   The program is run under mpirun with 4 ranks.
  <!-- output -->   The block is what the last program of the page that was run has printed.
  <!-- file -->     The block is compiled without a function around it.
  <!-- file: src/core/x.hpp -->   The block is this file without its licence lines. It is compiled
                    as it is, and later blocks of the page can include it.
  <!-- given: float* gradient; size_t n; -->   This code is inserted before the block.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^(\s*)(`{3,}|~{3,})\s*(\S*)\s*$")
COMMENT = re.compile(r"<!--\s*(run|output|file|given)\s*(?::\s*(.*?))?\s*-->", re.DOTALL)
NEEDS_MPI = re.compile(r"\bMPI_|<mpi\.h>|sparsecoll_mpi\.h|\bMPI::|sparsecoll::mpi|sparsecollCommInitMpi")
NEEDS_FORTRAN = re.compile(r"^fortran|sparsecoll::fortran|sparsecoll-fortran|\.f90")

STANDARD = {
    "c": ["math.h", "pthread.h", "stdio.h", "stdlib.h", "string.h"],
    "cpp": ["cmath", "cstdio", "cstdlib", "memory", "span", "string", "thread", "vector"],
}
FLAGS = {
    "c": ["-x", "c", "-std=c99", "-D_POSIX_C_SOURCE=200809L"],
    "cpp": ["-x", "c++", "-std=c++20"],
}
WARNINGS = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-Wno-unused"]


@dataclasses.dataclass
class Block:
    path: pathlib.Path
    line: int
    language: str
    text: str
    marks: dict  # from the comments before the block: run, output, file, given


class Fault(Exception):
    """A block fails its check. The message is for the author of the block."""


def marks_before(lines):
    """Returns the marks in the comments right before a block. Blank lines are ignored."""
    text = "\n".join(lines).rstrip()
    comments = re.search(r"(<!--(?:(?!-->).)*-->\s*)+\Z", text, re.DOTALL)
    return {m[1]: m[2] or "" for m in COMMENT.finditer(comments[0])} if comments else {}


def blocks_of(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    blocks, start = [], None
    for number, line in enumerate(lines):
        fence = FENCE.match(line)
        if start is None and fence:
            start = number
            opening = fence
        elif start is not None and fence and fence[2].startswith(opening[2]) and not fence[3]:
            text = "\n".join(l.removeprefix(opening[1]) for l in lines[start + 1 : number]) + "\n"
            blocks.append(Block(path, start + 1, opening[3], text, marks_before(lines[:start])))
            start = None
    if start is not None:
        raise Fault(f"{path}:{start + 1}: this block has no end")
    return blocks


def write_file(block, folder):
    """Writes the block as the file that its mark names. Returns the path."""
    path = folder / block.marks["file"]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text)
    return path


def call(command, **options):
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=300, **options)
    if done.returncode != 0:
        raise Fault(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


class Checker:
    def __init__(self, options, work):
        self.options = options
        self.work = work
        self.prefix = work / "prefix"
        self.mpi = bool(options.launcher)
        self.printed = None  # by the last program of the page
        for component in ("runtime", "development", "mpi", "mpi_development"):
            call([options.cmake, "--install", options.build, "--prefix", self.prefix, "--component", component])
        self.libraries = next(self.prefix.rglob("libsparsecoll.so")).parent

    def check(self, block):
        handler = getattr(self, f"check_{block.language}", None)
        if handler is None:
            raise Fault(f"a block of '{block.language}': expected c, cpp, fortran, cmake, sh, json, python or text")
        handler(block)

    def check_text(self, block):
        if "output" in block.marks and self.printed not in (None, block.text):
            raise Fault(f"the program has printed\n{self.printed}")

    def check_json(self, block):
        try:
            json.loads(block.text)
        except ValueError as error:
            raise Fault(str(error)) from error

    def check_c(self, block):
        self.check_code(block, self.options.cc)

    def check_cpp(self, block):
        self.check_code(block, self.options.cxx)

    def check_code(self, block, compiler):
        files = self.work / "files" / block.path.stem
        program = re.search(r"\bmain\s*\(", block.text)
        code = block.text if program else self.wrapped(block)
        if block.marks.get("file"):
            code = f'#include "{write_file(block, files)}"\n'
        source = self.work / "block"
        source.write_text(code)
        command = [compiler, *FLAGS[block.language], *WARNINGS, f"-I{self.prefix}/include"]
        for root in (files, self.options.root):
            command += [f"-I{root}/{folder}" for folder in ("src", "tests")]
        command += ["-DOMPI_SKIP_MPICXX=1", "-DMPICH_SKIP_MPICXX=1"]
        for folder in self.options.mpi_include:
            command += ["-isystem", folder]
        if not program:
            call([*command, "-fsyntax-only", source])
            return
        command += [source, "-x", "none", "-o", self.work / "program", f"-L{self.libraries}"]
        if NEEDS_MPI.search(block.text):
            command += ["-lsparsecoll_mpi", *self.options.mpi_library]
        call([*command, "-lsparsecoll", f"-Wl,-rpath,{self.libraries}", "-pthread", "-lm"])
        self.run_program(block)

    def run_program(self, block):
        if "run" in block.marks:
            ranks = block.marks["run"]
            launcher = [*shlex.split(self.options.launcher), ranks] if ranks else []
            self.printed = call(["timeout", "-k", "5", "120", *launcher, self.work / "program"], cwd=self.work)

    def wrapped(self, block):
        headers = ["sparsecoll/sparsecoll.h", *STANDARD[block.language]]
        if self.mpi:
            headers.append("sparsecoll/sparsecoll_mpi.h")
        is_include = re.compile(r"\s*#\s*include\b")
        lines = block.text.splitlines()
        top = [f"#include <{header}>" for header in headers]
        top += [line for line in lines if is_include.match(line)]
        top.append(block.marks.get("given", ""))
        body = ["" if is_include.match(line) else line for line in lines]
        if "file" not in block.marks:
            arguments = "void" if block.language == "c" else ""
            top.append(f"int block({arguments});\nint block({arguments}) {{")
            body.append("return 0;\n}")
        where = f'#line {block.line + 1} "{block.path.name}"'
        return "\n".join([*top, where, *body]) + "\n"

    def check_fortran(self, block):
        compiler = self.options.mpifc if self.mpi else self.options.fc
        program = re.search(r"^end program", block.text, re.MULTILINE)
        modules = ["sparsecoll", "iso_c_binding", *(["mpi_f08"] if self.mpi else [])]
        head = ["program block", *(f"use {module}" for module in modules), "implicit none"]
        lines = [*head, block.marks.get("given", ""), block.text, "end program block", ""]
        source = self.work / "block.f90"
        source.write_text(block.text if program else "\n".join(lines))
        command = [compiler, "-std=f2018", "-Wall", "-Wextra", "-Werror", "-Wno-unused"]
        command += ["-Wno-maybe-uninitialized", f"-I{self.prefix}/include/sparsecoll/fortran"]
        command += [f"-J{self.work}"]
        if not program:
            call([*command, "-fsyntax-only", source])
            return
        command += [source, "-o", self.work / "program", f"-L{self.libraries}"]
        call([*command, "-lsparsecoll_fortran", "-lsparsecoll", f"-Wl,-rpath,{self.libraries}"])
        self.run_program(block)

    def check_python(self, block):
        try:
            compile(block.text, str(block.path), "exec")
        except SyntaxError as error:
            raise Fault(str(error)) from error
        if "run" not in block.marks:
            return
        source = self.work / "block.py"
        source.write_text(block.text)
        needs_torch = "import torch" in block.text
        config = next(self.prefix.rglob("sparsecollConfig.cmake")).read_text()
        if needs_torch and "sparsecoll_WITH_UCX ON" not in config:
            return  # processes of torch.distributed start over UCX
        modules = "numpy,torch" if needs_torch else "numpy"
        environment = dict(os.environ, PYTHONPATH=str(self.options.root / "src/python"),
                           SPARSECOLL_LIBRARY=str(self.libraries / "libsparsecoll.so"))
        run = [self.options.root / "tests/python/run.sh", modules, source]
        call(["timeout", "-k", "5", "120", "bash", "-c", '"$@" || [ $? = 77 ]', "run", *run],
             env=environment)

    def check_cmake(self, block):
        with tempfile.TemporaryDirectory(dir=self.work) as folder:
            project = pathlib.Path(folder)
            head = "cmake_minimum_required(VERSION 3.24)\nproject(block LANGUAGES C CXX)\n"
            if "project(" in block.text:
                head = ""
            given = block.marks.get("given", "")
            (project / "CMakeLists.txt").write_text(f"{head}{given}\n{block.text}")
            for name in re.findall(r"[\w./-]+\.(?:c|cpp|f90)\b", block.text):
                program = "end\n" if name.endswith(".f90") else "int main(void) { return 0; }\n"
                (project / name).write_text(program)
            call([self.options.cmake, "-S", project, "-B", project / "build",
                  f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_C_COMPILER={self.options.cc}",
                  f"-DCMAKE_CXX_COMPILER={self.options.cxx}"])
            call([self.options.cmake, "--build", project / "build"])

    def check_sh(self, block):
        script = self.work / "script.sh"
        script.write_text(block.text)
        call(["bash", "-n", script])
        for command in re.findall(r"^\s*(?:\./)?([a-z.][\w.-]*/[\w./-]+)", block.text, re.MULTILINE):
            if not command.startswith("build/") and not (self.options.root / command).exists():
                raise Fault(f"no such file in the repository: {command}")
        if "run" in block.marks:
            call(["bash", "-euo", "pipefail", script], cwd=self.options.root)


def check_all(options, work):
    root = options.root
    pages = [root / "README.md", *sorted(root.glob("docs/**/*.md")), *sorted(root.glob("perf/*.md"))]
    checker = Checker(options, work)
    faults, checked, without_mpi, without_fortran = [], 0, 0, 0
    for page in pages:
        checker.printed = None
        for block in blocks_of(page):
            if not options.fc and NEEDS_FORTRAN.search(f"{block.language} {block.text}"):
                without_fortran += 1
                continue
            if not checker.mpi and (NEEDS_MPI.search(block.text) or block.marks.get("run")):
                without_mpi += 1
                continue
            checked += 1
            try:
                checker.check(block)
            except Fault as fault:
                faults.append(f"{page.relative_to(root)}:{block.line}: {fault}")
    print("\n".join(faults))
    print(f"{len(pages)} pages, {checked} blocks checked, {without_mpi} skipped without MPI, "
          f"{without_fortran} skipped without Fortran, {len(faults)} faults")
    return 1 if faults else 0


def main():
    parser = argparse.ArgumentParser()
    for name in ("--root", "--build"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--fc", default="", help="Fortran compiler; without one such blocks are skipped")
    parser.add_argument("--mpifc", default="mpifort")
    parser.add_argument("--launcher", default="", help="mpirun with its options up to the number of ranks")
    parser.add_argument("--mpi-include", action="append", default=[])
    parser.add_argument("--mpi-library", action="append", default=[])
    options = parser.parse_args()
    options.root = options.root.resolve()
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    with tempfile.TemporaryDirectory() as work:
        try:
            return check_all(options, pathlib.Path(work).resolve())
        except (Fault, OSError) as fault:
            print(fault)
            return 1


if __name__ == "__main__":
    sys.exit(main())
