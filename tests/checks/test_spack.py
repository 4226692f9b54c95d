#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""test_spack.py ROOT CMAKE: compares the recipe for Spack with the build that it describes.

Runs the recipe with stand-ins of Spack's classes and functions that record how it calls them. They know only what the
recipes that come with Spack 1.0 use. Spack itself is not needed.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import types
import unittest

ROOT, CMAKE = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
del sys.argv[1:]
REPOSITORY = ROOT / "scripts/spack/spack_repo/sparsecoll"
BUILD_FILES = "".join(path.read_text() for path in [ROOT / "CMakeLists.txt", *sorted((ROOT / "cmake").glob("*.cmake"))])
# Options that a user of the library does not choose.
NOT_FOR_USERS = {"SPARSECOLL_WERROR", "SPARSECOLL_SANITIZE", "SPARSECOLL_LIBTORCH", "SPARSECOLL_BUILD_EXAMPLES"}
ALL = {"shared", "mpi", "ucx", "cuda", "nccl", "hwloc", "fortran", "python", "tools", "perf", "docs"}
calls = []


def record(name):
    return lambda *given, **named: calls.append((name, given, named))


def run_after(phase, when=None):
    def keep(method):
        calls.append(("run_after", (phase, method.__name__), {"when": when}))
        return method
    return keep


def define(name, value):
    return f"-D{name}:BOOL={'ON' if value else 'OFF'}" if isinstance(value, bool) else f"-D{name}:STRING={value}"


class Spec:
    def __init__(self, chosen, architectures):
        self.chosen = chosen
        self.variants = {name: types.SimpleNamespace(value=name in chosen) for name in ALL}
        if "cuda" not in chosen:
            del self.variants["nccl"]  # as with `when`
        self.variants["cuda_arch"] = types.SimpleNamespace(value=architectures)

    def satisfies(self, text):
        return text.startswith("+") and text[1:] in self.chosen


class CMakePackage:
    def __init__(self, chosen, architectures=("none",)):
        self.spec = Spec(chosen, architectures)
        self.prefix = types.SimpleNamespace(lib="/prefix/lib")

    def define(self, name, value):
        return define(name, value)

    def define_from_variant(self, name, variant):
        assert variant in ALL, f"{variant} is no variant"
        return define(name, self.spec.variants[variant].value) if variant in self.spec.variants else ""


class CudaPackage:
    pass


def load():
    package = types.ModuleType("spack.package")
    for name in ("version", "variant", "depends_on", "conflicts", "extends", "license", "install_tree"):
        setattr(package, name, record(name))
    package.run_after, package.join_path = run_after, lambda *parts: "/".join(parts)
    modules = {"spack": types.ModuleType("spack"), "spack.package": package}
    for name in ("spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
        modules[name] = types.ModuleType(name)
    for name, kind in (("cmake", CMakePackage), ("cuda", CudaPackage)):
        modules[f"spack_repo.builtin.build_systems.{name}"] = types.SimpleNamespace(**{kind.__name__: kind})
    sys.modules.update(modules)
    path = REPOSITORY / "packages/sparsecoll/package.py"
    names = {"__file__": str(path), "__name__": "recipe", "python_platlib": "/prefix/python"}
    exec(compile(path.read_text(), path, "exec"), names)
    return names["Sparsecoll"]


Sparsecoll = load()
DIRECTIVES = list(calls)


def arguments(chosen, *architectures):
    return [each for each in Sparsecoll(chosen, architectures or ("none",)).cmake_args() if each]


def options(chosen):
    return dict(re.fullmatch(r"-D(\w+):\w+=(.*)", each).groups() for each in arguments(chosen))


class Recipe(unittest.TestCase):
    def test_repository(self):
        self.assertRegex((REPOSITORY / "repo.yaml").read_text(), rf"(?m)^  namespace: {REPOSITORY.name}\n  api: v2\.0$")
        self.assertEqual(Sparsecoll.git, ROOT.as_uri())

    def test_options_are_those_of_the_build(self):
        known = set(re.findall(r"(?m)^\s*option\((\w+)", BUILD_FILES))
        known |= set(re.findall(r"(?m)^\s*set\((SPARSECOLL_\w+) [^)]*\bCACHE\b", BUILD_FILES))
        given = set(options(ALL)) - {"CMAKE_INSTALL_LIBDIR"}
        self.assertGreater(len(known), 10)
        self.assertEqual(given - known, set())
        self.assertEqual(known - given - NOT_FOR_USERS, set())

    def test_every_variant_has_an_effect(self):
        variants = {given[0]: named for name, given, named in DIRECTIVES if name == "variant"}
        self.assertEqual(set(variants) | {"cuda"}, ALL)
        for name in ALL - {"python"}:
            with self.subTest(name):
                with_it, without = options(ALL), options(ALL - {name})
                self.assertEqual([with_it[key] for key in with_it if with_it[key] != without.get(key)],
                                 ["ON"] * (2 if name == "cuda" else 1))
        for name in variants:
            self.assertTrue(variants[name]["description"])

    def test_architectures(self):
        self.assertIn("-DCMAKE_CUDA_ARCHITECTURES:STRING=80;90", arguments({"cuda"}, "80", "90"))
        self.assertNotIn("CMAKE_CUDA_ARCHITECTURES", options({"cuda"}))

    def oldest(self, pattern, text=BUILD_FILES):
        found = re.findall(pattern, text)
        self.assertEqual(len(set(found)), 1, pattern)
        return found[0].removesuffix(".0")

    def test_oldest_versions(self):
        oldest = dict(re.fullmatch(r"([\w-]+)@([\d.]+):", given[0]).groups()
                      for name, given, _ in DIRECTIVES if name == "depends_on" and "@" in given[0])
        python = self.oldest(r'requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text())
        self.assertEqual(oldest, {
            "cmake": self.oldest(r"cmake_minimum_required\(VERSION ([\d.]+)"),
            "nlohmann-json": self.oldest(r"find_package\(nlohmann_json ([\d.]+)"),
            "hwloc": self.oldest(r"(?m)^  find_package\(Hwloc ([\d.]+)"),
            "ucx": self.oldest(r"find_package\(UCX ([\d.]+)"),
            "nccl": self.oldest(r"set\(sparsecoll_oldest_nccl ([\d.]+)\)"),
            "cuda": self.oldest(r"CMAKE_CUDA_COMPILER_VERSION VERSION_LESS ([\d.]+)"), "python": python})

    def test_oldest_compilers(self):
        gcc, clang = re.search(r"g\+\+ (\d+) or clang (\d+)", (ROOT / "README.md").read_text()).groups()
        refused = [given[0] for name, given, _ in DIRECTIVES if name == "conflicts"]
        self.assertEqual(refused, [f"%gcc@:{int(gcc) - 1}", f"%clang@:{int(clang) - 1}"])

    def test_packages_that_the_build_looks_for(self):
        """What find_package() looks for is a dependency; Threads is in the C library, Catch2 for tests."""
        names = {"Threads": None, "Catch2": None, "MPI": "mpi", "Hwloc": "hwloc", "UCX": "ucx", "NCCL": "nccl",
                 "PkgConfig": "pkgconfig", "CUDAToolkit": "cuda", "Python3": "python", "nlohmann_json": "nlohmann-json"}
        needed = {given[0].split("@")[0] for name, given, _ in DIRECTIVES if name == "depends_on"}
        for name in set(re.findall(r"(?m)^\s*find_package\((\w+)", BUILD_FILES)):
            self.assertIn(name, names)
            self.assertTrue(names[name] is None or names[name] in needed, name)
        self.assertIn("find_package(CLI11", (ROOT / "perf/CMakeLists.txt").read_text())
        self.assertIn("cli11", needed)

    def test_python(self):
        self.assertIn(("run_after", ("install", "install_python"), {"when": "+python"}), DIRECTIVES)
        del calls[:]
        Sparsecoll({"python"}).install_python()
        (name, (source, target), _), = calls
        self.assertEqual((name, target), ("install_tree", "/prefix/python/sparsecoll"))
        self.assertTrue((ROOT / source / "__init__.py").exists())
        environment = types.SimpleNamespace(set=record("set"))
        Sparsecoll({"python"}).setup_run_environment(environment)
        self.assertEqual(calls[-1][1], ("SPARSECOLL_LIBRARY", "/prefix/lib/libsparsecoll.so"))
        self.assertIn(calls[-1][1][0], (ROOT / "src/python/sparsecoll/_library.py").read_text())

    def test_cmake_takes_the_arguments(self):
        chosen = {"shared"}
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([CMAKE, "-S", ROOT, "-B", folder, "-DCMAKE_PREFIX_PATH=", *arguments(chosen)],
                                  capture_output=True, text=True, timeout=300, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertNotIn("not used by the project", done.stderr)
            cache = (pathlib.Path(folder) / "CMakeCache.txt").read_text()
        for name, value in options(chosen).items():
            self.assertRegex(cache, rf"(?m)^{name}:\w+={value}$")


if __name__ == "__main__":
    unittest.main()
