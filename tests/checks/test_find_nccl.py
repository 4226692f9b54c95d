#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""test_find_nccl.py ROOT CMAKE: tests how CMake finds the header of NCCL."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv[1]).resolve()
CMAKE = sys.argv[2]

PROJECT = f"""
cmake_minimum_required(VERSION 3.24)
project(find LANGUAGES NONE)
# An NCCL that is installed on this machine is ignored.
set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)
set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)
list(APPEND CMAKE_MODULE_PATH "{ROOT}/cmake")
include(SparsecollNccl)
message(STATUS "have: ${{SPARSECOLL_HAVE_NCCL}} ${{NCCL_VERSION}}")
if(SPARSECOLL_HAVE_NCCL)
  get_target_property(folder NCCL::headers INTERFACE_INCLUDE_DIRECTORIES)
  message(STATUS "folder: ${{folder}}")
endif()
"""


def header(folder, major=2, minor=28, patch=3):
    folder.mkdir(parents=True)
    (folder / "nccl.h").write_text(f"#define NCCL_MAJOR {major}\n#define NCCL_MINOR {minor}\n"
                                   f"#define NCCL_PATCH {patch}\n#define NCCL_SUFFIX \"\"\n")
    return folder


class FindNccl(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        (self.home / "CMakeLists.txt").write_text(PROJECT)

    def configure(self, *options, nccl="AUTO", cuda="ON", **environment):
        inherited = {k: v for k, v in os.environ.items() if k not in ("NCCL_ROOT", "PYTHONPATH")}
        # A python3 that finds no packages except those of PYTHONPATH.
        tools = self.home / "tools"
        if not tools.exists():
            tools.mkdir()
            (tools / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
            (tools / "python3").chmod(0o755)
        inherited["PATH"] = f"{tools}:{inherited['PATH']}"
        done = subprocess.run(
            [CMAKE, "-S", self.home, "-B", self.home / "build", f"-DSPARSECOLL_NCCL={nccl}",
             f"-DSPARSECOLL_HAVE_CUDA={cuda}", f"-DCMAKE_PROGRAM_PATH={tools}", *options],
            capture_output=True, text=True, env={**inherited, **environment}, timeout=120,
            check=False)
        self.output = " ".join((done.stdout + done.stderr).split())
        return done.returncode

    def found(self, folder, version="2.28.3"):
        self.assertIn(f"NCCL: yes ({folder}/nccl.h {version})", self.output)
        self.assertIn(f"have: ON {version} ", self.output)
        self.assertIn(f"folder: {folder}", self.output)

    def missing(self, why):
        self.assertIn(f"NCCL: no ({why}", self.output)
        self.assertIn("have: OFF", self.output)

    def test_root_as_variable(self):
        folder = header(self.home / "nccl_root/include", patch=9)
        self.assertEqual(self.configure(f"-DNCCL_ROOT={self.home / 'nccl_root'}"), 0, self.output)
        self.found(folder, "2.28.9")

    def test_root_in_the_environment(self):
        folder = header(self.home / "nccl_root/include", minor=32)
        self.assertEqual(self.configure(NCCL_ROOT=str(self.home / "nccl_root")), 0, self.output)
        self.found(folder, "2.32.3")

    def test_wheel_of_python(self):
        folder = header(self.home / "site/nvidia/nccl/include")
        self.assertEqual(self.configure(PYTHONPATH=str(self.home / "site"), nccl="ON"), 0,
                         self.output)
        self.found(folder)

    def test_root_goes_before_the_wheel(self):
        header(self.home / "site/nvidia/nccl/include")
        folder = header(self.home / "nccl_root/include", minor=30)
        self.assertEqual(self.configure(PYTHONPATH=str(self.home / "site"),
                                        NCCL_ROOT=str(self.home / "nccl_root")), 0, self.output)
        self.found(folder, "2.30.3")

    def test_too_old(self):
        header(self.home / "nccl_root/include", minor=27, patch=7)
        root = f"-DNCCL_ROOT={self.home / 'nccl_root'}"
        self.assertEqual(self.configure(root), 0, self.output)
        self.missing(f"{self.home}/nccl_root/include/nccl.h is version 2.27.7; it needs 2.28 or later")
        self.assertNotEqual(self.configure(root, nccl="ON"), 0)
        self.assertIn("SPARSECOLL_NCCL=ON, but: ", self.output)
        self.assertIn("version 2.27.7", self.output)

    def test_a_header_without_version(self):
        folder = self.home / "nccl_root/include"
        folder.mkdir(parents=True)
        (folder / "nccl.h").write_text("int nothing;\n")
        self.assertEqual(self.configure(f"-DNCCL_ROOT={self.home / 'nccl_root'}"), 0, self.output)
        self.missing(f"{folder}/nccl.h tells no version")

    def test_missing_then_installed(self):
        self.assertEqual(self.configure(), 0, self.output)
        self.missing("no nccl.h found: NCCL_ROOT")
        folder = header(self.home / "site/nvidia/nccl/include")
        self.assertEqual(self.configure(PYTHONPATH=str(self.home / "site")), 0, self.output)
        self.found(folder)
        (folder / "nccl.h").unlink()
        self.assertEqual(self.configure(), 0, self.output)
        self.missing("no nccl.h found: NCCL_ROOT")

    def test_disabled_or_without_cuda(self):
        header(self.home / "nccl_root/include")
        root = f"-DNCCL_ROOT={self.home / 'nccl_root'}"
        self.assertEqual(self.configure(root, nccl="OFF"), 0, self.output)
        self.missing("SPARSECOLL_NCCL=OFF")
        self.assertEqual(self.configure(root, cuda="OFF"), 0, self.output)
        self.missing("it needs CUDA")
        self.assertNotEqual(self.configure(root, cuda="OFF", nccl="ON"), 0)
        self.assertNotEqual(self.configure(root, nccl="yes"), 0)
        self.assertIn("it can be AUTO, ON or OFF", self.output)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
