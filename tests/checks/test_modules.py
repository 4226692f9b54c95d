#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""test_modules.py CMAKE BUILD_DIR VERSION: installs a build, moves it, and loads its environment module.

Loads it with Environment Modules or with Lmod, whichever is installed. Without both the test is skipped.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

CMAKE, BUILD, VERSION = sys.argv[1:]
del sys.argv[1:]
CACHE = (pathlib.Path(BUILD) / "CMakeCache.txt").read_text()
SETUPS = [path for path in ("/usr/share/modules/init/bash", "/usr/share/lmod/lmod/init/bash") if pathlib.Path(path).exists()]
PATHS = ("PATH", "LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "MANPATH", "CMAKE_PREFIX_PATH")
SKIPPED = 77


class Module(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.prefix = pathlib.Path(folder.name).resolve() / "moved"
        installed = pathlib.Path(folder.name) / "installed"
        for component in ("modulefile", "runtime", "development", "tools"):
            done = subprocess.run([CMAKE, "--install", BUILD, "--prefix", installed, "--component", component],
                                  capture_output=True, text=True, timeout=300, check=False)
            if done.returncode != 0:
                raise AssertionError(done.stdout + done.stderr)
        installed.rename(cls.prefix)

    def bash(self, script):
        """Runs a script in which the command `module` knows the module. Returns what it printed."""
        environment = {name: value for name, value in os.environ.items()
                       if name not in PATHS[1:] and not name.startswith(("MODULE", "LMOD", "LOADED", "_LM"))}
        head = f"set -e; . {SETUPS[0]}; module use '{self.prefix}/share/modulefiles'; "
        done = subprocess.run(["bash", "-c", head + script], capture_output=True, text=True, timeout=60,
                              env=environment, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def variables(self, script):
        values = self.bash(script + "; " + "; ".join(f'echo "${{{name}:-}}"' for name in PATHS)).split("\n")
        return {name: value.split(":") if value else [] for name, value in zip(PATHS, values)}

    def test_paths_lead_to_installed_folders(self):
        before, loaded = self.variables("true"), self.variables(f"module load sparsecoll/{VERSION}")
        wanted = {"PATH": "sparsecoll-info", "LD_LIBRARY_PATH": f"libsparsecoll.so.{VERSION}",
                  "PKG_CONFIG_PATH": "sparsecoll.pc", "CMAKE_PREFIX_PATH": "include/sparsecoll/sparsecoll.h"}
        if (self.prefix / "share/man").exists():
            wanted["MANPATH"] = "man1/sparsecoll-info.1"
        for name, file in wanted.items():
            added = [path for path in loaded[name] if path and path not in before[name]]
            self.assertEqual(len(added), 1, name)
            self.assertEqual(loaded[name][0], added[0], name)
            self.assertTrue((pathlib.Path(added[0]) / file).exists(), f"{name}: {added[0]} has no {file}")
            self.assertTrue(added[0].startswith(str(self.prefix)))

    def test_links_lead_to_the_same_prefix(self):
        other = self.prefix.parent / "modules"
        for place, target in (("folder", ""), ("file/sparsecoll", VERSION)):
            link = other / place / (target or "sparsecoll")
            link.parent.mkdir(parents=True)
            link.symlink_to(self.prefix / "share/modulefiles/sparsecoll" / target)
            loaded = self.variables(f"module use {other / place.split('/')[0]}; module load sparsecoll")
            self.assertEqual(loaded["CMAKE_PREFIX_PATH"], [str(self.prefix)], place)

    def test_programs_work(self):
        load = "module load sparsecoll; "
        self.assertIn(f"{VERSION}", self.bash(load + "sparsecoll-info --version"))
        if shutil.which("pkg-config"):
            flags = self.bash(load + "pkg-config --variable=libdir sparsecoll").strip().replace("\\", "")
            self.assertTrue((pathlib.Path(flags) / "libsparsecoll.so").exists(), flags)

    @unittest.skipUnless(shutil.which("man") and "SPARSECOLL_DOXYGEN:FILEPATH=/" in CACHE, "no man, or no pages")
    def test_man_finds_these_pages_and_those_of_the_system(self):
        self.assertTrue(self.bash("module load sparsecoll; man -w sparsecoll-info").startswith(str(self.prefix)))
        system = subprocess.run(["man", "-w", "man"], capture_output=True, text=True, check=False).stdout
        self.assertEqual(self.bash("module load sparsecoll; man -w man || true"), system)

    def test_unload_restores_the_variables(self):
        before, after = self.variables("true"), self.variables("module load sparsecoll; module unload sparsecoll")
        for name in PATHS:  # Lmod leaves out what a variable has twice
            self.assertEqual([*dict.fromkeys(filter(None, after[name]))], [*dict.fromkeys(filter(None, before[name]))], name)

    def test_help(self):
        self.assertIn(f"sparsecoll {VERSION}: ", self.bash("module help sparsecoll 2>&1"))
        self.assertIn(str(self.prefix), self.bash("module help sparsecoll 2>&1"))


if __name__ == "__main__":
    if not SETUPS:
        print("SKIPPED: the environment module: neither Environment Modules nor Lmod is installed")
        sys.exit(SKIPPED)
    unittest.main()
