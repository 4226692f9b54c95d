#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""test_packages.py CPACK BUILD_DIR VERSION: makes the Debian packages of a build and checks what is in them."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from check_paths import BLOCK, LINK

CPACK, BUILD, VERSION = sys.argv[1:]
del sys.argv[1:]
MAJOR = VERSION.split(".")[0]
CACHE = (pathlib.Path(BUILD) / "CMakeCache.txt").read_text()
MPI, FORTRAN, PERF = (f"SPARSECOLL_{name}:BOOL=ON" in CACHE for name in ("MPI", "FORTRAN", "BUILD_PERF"))

# What a package must have, as regular expressions of whole paths in /usr; and nothing else.
FILES = {
    f"libsparsecoll{MAJOR}": [rf"lib/libsparsecoll\.so\.{MAJOR}", rf"lib/libsparsecoll\.so\.{VERSION}"],
    f"libsparsecoll-mpi{MAJOR}": [rf"lib/libsparsecoll_mpi\.so\.{MAJOR}", rf"lib/libsparsecoll_mpi\.so\.{VERSION}"],
    "libsparsecoll-dev": [
        r"include/sparsecoll/sparsecoll\.hp{0,2}", r"include/sparsecoll/cxx/\w+\.hpp", r"lib/libsparsecoll\.so",
        r"lib/libsparsecoll\.a", r"lib/cmake/sparsecoll/\w+(-\w+)?\.cmake", r"lib/pkgconfig/sparsecoll\.pc"],
    "sparsecoll-tools": [
        r"bin/sparsecoll-(info|blame)", r"share/sparsecoll/perf/(launch|plot\.py|timeline\.py)",
        r"share/sparsecoll/perf/plots/\w+\.py"],
    "sparsecoll-doc": [
        r"share/doc/sparsecoll/README\.md", r"share/doc/sparsecoll/perf/README\.md",
        r"share/doc/sparsecoll/docs/[\w-]+\.md", r"share/doc/sparsecoll/docs/algorithms/[\w-]+\.md",
        r"share/doc/sparsecoll/docs/images/\w+\.png", r"share/doc/sparsecoll/docs/examples/.*",
        r"share/doc/sparsecoll/perf/(results|tensors)/.*", r"share/doc/sparsecoll/include/sparsecoll/sparsecoll\.h"],
}
if re.search(r"SPARSECOLL_DOXYGEN:\w+=/", CACHE):
    FILES["sparsecoll-tools"].append(r"share/man/man1/[\w-]+\.1\.gz")
    FILES["sparsecoll-doc"] += [r"share/doc/sparsecoll/reference/html/.*", r"share/man/man3/\w+\.3\.gz", r"share/man/man7/sparsecoll\.7\.gz"]
if MPI:
    FILES["libsparsecoll-dev"] += [r"include/sparsecoll/sparsecoll_mpi\.hp{0,2}", r"lib/libsparsecoll_mpi\.so",
                                   r"lib/libsparsecoll_mpi\.a", r"lib/pkgconfig/sparsecoll-mpi\.pc"]
else:
    del FILES[f"libsparsecoll-mpi{MAJOR}"]
if FORTRAN:
    FILES["libsparsecoll-dev"] += [r"include/sparsecoll/fortran/\w+\.mod", r"lib/libsparsecoll_fortran\.a",
                                   r"lib/pkgconfig/sparsecoll-fortran\.pc"]
if PERF:
    FILES["sparsecoll-tools"] += [r"bin/\w+_perf", "bin/sparsecoll-tune"]


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        # The files are large, and packing them is not what is tested.
        made = subprocess.run(
            [CPACK, "--config", f"{BUILD}/CPackConfig.cmake", "-B", folder.name, "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=none"],
            capture_output=True, text=True, timeout=1500, check=False)
        if made.returncode != 0:
            raise AssertionError(made.stdout + made.stderr)
        files = sorted(pathlib.Path(folder.name).glob("*.deb"))
        cls.packages = {file.name.split("_")[0]: file for file in files}

    def field(self, package, name):
        return output("dpkg-deb", "--field", self.packages[package], name).strip()

    def contents(self, package):
        """Returns the files of a package by their paths in /usr, with their modes."""
        lines = output("dpkg-deb", "--contents", self.packages[package]).splitlines()
        found = {}
        for line in lines:
            mode, owner, _, _, _, path = line.split(maxsplit=5)
            self.assertEqual(owner, "root/root")
            if not mode.startswith("d"):
                # Debian's folder of libraries for this architecture is lib elsewhere.
                path = re.sub(r"^lib/[\w]+-linux-gnu/", "lib/", path.removeprefix("./usr/").split(" -> ")[0])
                found[path] = mode
        return found

    def test_packages(self):
        self.assertEqual(set(self.packages), set(FILES))

    def test_contents(self):
        for package, patterns in FILES.items():
            with self.subTest(package):
                doc = rf"share/doc/{package}/"
                found = self.contents(package)
                wanted = [*patterns, doc + "copyright", doc + r"changelog\.Debian\.gz"]
                unwanted = [path for path in found if not any(re.fullmatch(p, path) for p in wanted)]
                self.assertEqual(unwanted, [])
                self.assertEqual([p for p in wanted if not any(re.fullmatch(p, path) for path in found)], [])
                for path, mode in found.items():
                    runs = re.fullmatch(r"bin/.*|share/sparsecoll/perf/(launch|plot\.py|timeline\.py)", path)
                    if mode[0] == "-" and not path.startswith("share/doc/sparsecoll/"):
                        self.assertEqual(mode, "-rwxr-xr-x" if runs else "-rw-r--r--", path)

    def test_pages_link_to_what_the_package_has(self):
        with tempfile.TemporaryDirectory() as folder:
            output("dpkg-deb", "--extract", self.packages["sparsecoll-doc"], folder)
            root = pathlib.Path(folder) / "usr/share/doc/sparsecoll"
            pages = list(root.rglob("*.md"))
            self.assertGreater(len(pages), 30)
            missing = [(str(page.relative_to(root)), target) for page in pages
                       for target, _ in LINK.findall(BLOCK.sub("", page.read_text()))
                       if target and ":" not in target and not (page.parent / target).exists()]
            # Debian's packages have the licence as /usr/share/doc/PACKAGE/copyright.
            self.assertEqual(missing, [("README.md", "LICENSE")])

    def test_every_program_has_a_manual_page(self):
        found = self.contents("sparsecoll-tools")
        programs = [path.removeprefix("bin/") for path in found if path.startswith("bin/")]
        pages = [f"share/man/man1/{name}.1.gz" for name in programs]
        if any(path.startswith("share/man/") for path in found):
            self.assertEqual([page for page in pages if page not in found], [])

    def test_metadata(self):
        for package in FILES:
            with self.subTest(package):
                self.assertEqual(self.field(package, "Version"), f"{VERSION}-1")
                self.assertRegex(self.field(package, "Maintainer"), r".+ <.+@.+>")
                self.assertIn("sparse collectives for slow networks - ", self.field(package, "Description"))

    def test_dependencies(self):
        library = self.field(f"libsparsecoll{MAJOR}", "Depends")
        self.assertIn("libc6 (>= ", library)
        self.assertNotIn("mpi", library)
        self.assertNotIn("ucx", library)
        self.assertIn("libucx0", self.field(f"libsparsecoll{MAJOR}", "Recommends"))
        self.assertEqual("libhwloc15" in library, "SPARSECOLL_HWLOC:BOOL=ON" in CACHE)
        self.assertIn(f"libsparsecoll{MAJOR} (= {VERSION}-1)", self.field("libsparsecoll-dev", "Depends"))
        if MPI:
            mpi = self.field(f"libsparsecoll-mpi{MAJOR}", "Depends")
            self.assertRegex(mpi, r"libopenmpi|libmpich")
            self.assertIn(f"libsparsecoll{MAJOR} (= {VERSION}-1)", mpi)
            self.assertIn(f"libsparsecoll-mpi{MAJOR} (= {VERSION}-1)", self.field("libsparsecoll-dev", "Depends"))
        self.assertEqual(self.field("sparsecoll-doc", "Architecture"), "all")
        self.assertEqual(self.field("sparsecoll-doc", "Depends"), "")

    def test_page_lists_the_install_components(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        rules = "".join(re.sub("#.*", "", path.read_text()) for path in root.glob("cmake/*.cmake"))
        used = set(re.findall(r"\bCOMPONENT (\w+)", rules))
        for names in re.findall(r"sparsecoll_install_(?:pc|library)\(([\w ]+)\)", rules):
            used.update(names.split()[2 if "Targets" in names else 1:])
        page = (root / "docs/packages.md").read_text()
        self.assertGreater(len(used), 5)
        self.assertEqual({name for name in used if f"`{name}`" not in page}, set())

    def test_shared_libraries(self):
        """Other packages find what they depend on, and the run-time linker its cache."""
        name = f"libsparsecoll{MAJOR}"
        self.assertEqual(output("dpkg-deb", "--info", self.packages[name], "shlibs").strip(),
                         f"libsparsecoll {MAJOR} {name} (>= {VERSION}-1)")
        self.assertIn("ldconfig", output("dpkg-deb", "--info", self.packages[name], "triggers"))


if __name__ == "__main__":
    unittest.main()
