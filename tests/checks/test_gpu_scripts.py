#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""test_gpu_scripts.py ROOT CMAKE: tests perf/gpu.sh and the run.sh of its packages without nvcc and
without a GPU, on a package whose programs are shell scripts. Tests a configuration with a broken nvcc."""

import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv[1]).resolve()
CMAKE = sys.argv[2]
PARTS = {"run.sh": "perf/device", "runner.sh": "perf/device", "steps.sh": "perf/device",
         "torch_topk.py": "perf/device", "options.sh": "scripts"}

# Writes an empty result, as topk_perf does. STUB is its exit status; STUB_PROBE is that of the
# first GPU call.
TOPK_PERF = """#!/bin/sh
[ "$1" = --help ] && exit 0
while [ $# -gt 0 ]; do
  [ "$1" = -J ] && echo '{}' > "$2" && exit "${STUB:-0}"
  shift
done
[ "${STUB_PROBE:-0}" != 3 ] || echo "topk_perf: --memory device: no CUDA device (a stub)" >&2
[ "${STUB_PROBE:-0}" != 1 ] || echo "no kernel image is available" >&2
exit "${STUB_PROBE:-0}"
"""
TEST_GPU = """#!/bin/sh
[ "$2" = --list-tags ] && echo '  1  [#select_test]' && echo '  1  [#large_test]' &&
  echo '  1  [#nccl_test]' && echo '  1  [#nccl_two_ranks_test]'
[ "${STUB_TEST:-0}" != 77 ] || echo "SKIPPED: a stub"
exit "${STUB_TEST:-0}"
"""
# Tests a and b wait for each other; test c fails.
MEETING = """#!/bin/sh
[ "$2" != --list-tags ] || exec printf '  1  [#%s_test]\\n' a b c
[ "$2" != '[#c_test]' ] || exit 3
[ "$2" = '[#a_test]' ] && own=a other=b || own=b other=a
touch "$MEETING/$own"
for _ in $(seq 200); do [ ! -e "$MEETING/$other" ] || exec echo met; sleep 0.1; done
exit 4
"""
# A stand-in for mpirun that starts one rank.
MPIRUN = """#!/bin/sh
[ -n "$OPAL_PREFIX" ] || exit 8
while [ "$1" != -n ]; do shift; done
shift 2
exec "$@"
"""


def call(*command, **environment):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          env={**os.environ, **environment}, timeout=120, check=False)


class Package(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        self.package = self.home / "package"
        for name, text in (("bin/topk_perf", TOPK_PERF), ("bin/verbs_perf", TOPK_PERF),
                           ("bin/test_gpu", TEST_GPU), ("lib/libc.so.6", "")):
            path = self.package / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        for name, folder in PARTS.items():
            shutil.copy(ROOT / folder / name, self.package)
        (self.package / "MANIFEST").write_text("# source: here\n# compute capability: 9.0\n")
        sums = call("sh", "-c", f"cd '{self.package}' && sha256sum {' '.join(PARTS)} bin/* lib/*")
        with (self.package / "MANIFEST").open("a") as file:
            file.write(sums.stdout)

    def run_package(self, *arguments, **environment):
        return call(self.package / "run.sh", *arguments, **environment)

    def check(self, status, words, done):
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertIn(words, done.stdout + done.stderr)

    def packed(self, out):
        with tarfile.open(f"{out}.tar.gz") as archive:
            return {name.split("/", 1)[1] for name in archive.getnames()}


class Arguments(Package):
    def test_bad_ones_are_refused(self):
        for words, arguments in (
                ("--out needs a value", ["--out"]), ("--only needs a value", ["--only"]),
                ("--limit needs a value", ["--quick", "--limit"]),
                ("--limit needs seconds", ["--limit", "x"]), ("--jobs needs a number", ["--jobs", "0"]),
                ("there is no option --fast", ["--fast"]),
                ("there is no step 'top'", ["--only", "hello,top"]),
                ("there is no step '*'", ["--only", "*"]), ("there is no step ''", ["--only", "hello,,"
                                                                                    "topk"]),
                ("--only needs names", ["--only", ""]), ("one FOLDER", ["a", "b"])):
            with self.subTest(arguments):
                self.check(2, words, self.run_package(*arguments))
        self.assertFalse((self.package / "results").exists())

    def test_gpu_sh(self):
        for status, words, arguments in (
                (0, "usage", ["build", "--help"]), (0, "--only NAMES", ["run", "--help"]),
                (2, "--jobs needs a value", ["build", "--jobs"]),
                (2, "--arch needs a value", ["build", "--jobs", "1", "--arch"]),
                (2, "--arch needs compute capabilities", ["build", "--arch", "sm_90"]),
                (2, "--jobs needs a number", ["build", "--jobs", "all"]),
                (2, "there is no option --fast", ["build", "--fast"]), (2, "usage", []),
                (2, "unknown command", ["make"]), (2, "--only needs a value", ["run", "--only"]),
                (1, "no package in", ["run", "--out", self.home / "results", self.home])):
            with self.subTest(arguments):
                self.check(status, words, call(ROOT / "perf/gpu.sh", *arguments))

    def test_a_folder_of_other_files_is_refused_for_results(self):
        out = self.home / "out"
        out.mkdir()
        (out / "mine.txt").write_text("mine")
        self.check(2, "not a former run's", self.run_package("--out", out))
        self.check(2, "is no folder", self.run_package("--out", out / "mine.txt/results"))
        self.check(2, "is no folder", self.run_package("--out", out / "mine.txt"))


class Repository(Package):
    """A repository that has only scripts. Its gpu.sh prints that it was called."""

    def setUp(self):
        super().setUp()
        self.root = self.home / "repository"
        (self.root / "perf/device").mkdir(parents=True)
        (self.root / "scripts").mkdir()
        for name, folder in PARTS.items():
            shutil.copy(ROOT / folder / name, self.root / folder)
        maker = self.root / "perf/gpu.sh"
        maker.write_text("#!/bin/sh\necho made; exit 1\n")
        maker.chmod(0o755)
        self.git("init", "--quiet")
        self.git("add", "perf")
        self.git("-c", "user.name=n", "-c", "user.email=e", "commit", "--quiet", "-m", "m")

    def git(self, *arguments):
        done = call("git", "-C", self.root, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def run_here(self, **environment):
        return call(self.root / "perf/device/run.sh", "--only", "hello_topk", **environment)

    def test_nothing_is_built_without_a_driver(self):
        if any(pathlib.Path("/dev").glob("nvidia[0-9]*")) or pathlib.Path("/dev/dxg").exists():
            self.check(1, "made", self.run_here())
        else:
            done = self.run_here()
            self.check(3, "no GPU's driver here", done)
            self.assertNotIn("made", done.stdout)

    def test_a_package_of_other_sources_is_reported(self):
        shutil.copytree(self.package, self.root / "build/gpu-package")
        manifest = self.root / "build/gpu-package/MANIFEST"
        self.check(0, "the package is made of here, the sources are ", self.run_here())
        manifest.write_text(manifest.read_text().replace(
            "# source: here", "# source: " + self.git("describe", "--always")))
        done = self.run_here()
        self.check(0, "1 ok, 0 failed", done)
        self.assertNotIn("is made of", done.stderr)


class Machine(Package):
    def test_no_gpu(self):
        self.check(3, "no CUDA device (a stub): nothing was run", self.run_package(STUB_PROBE="3"))
        self.assertFalse((self.package / "results").exists())

    def test_a_failed_probe_ends_the_run(self):
        done = self.run_package(STUB_PROBE="1")
        self.check(1, "The package was built for 9.0", done)
        self.assertIn("no kernel image is available", done.stderr)
        self.assertFalse((self.package / "results").exists())

    def test_an_incomplete_package_is_refused(self):
        with (self.package / "bin/test_gpu").open("a") as file:
            file.write("# changed\n")
        self.check(1, "is not as it was packed", self.run_package())
        shutil.rmtree(self.package / "lib")
        self.check(1, "there is no lib", self.run_package())
        shutil.rmtree(self.package / "bin")
        self.check(1, "no package in", self.run_package())

    def test_programs_that_do_not_start(self):
        (self.package / "bin/topk_perf").write_text("#!/bin/sh\nexit 9\n")
        manifest = self.package / "MANIFEST"
        lines = [line for line in manifest.read_text().splitlines() if "topk_perf" not in line]
        manifest.write_text("\n".join(lines) + "\n")
        self.check(1, "there is no loader in", self.run_package())

    def test_a_link_to_the_script(self):
        link = self.home / "run"
        link.symlink_to(self.package / "run.sh")
        self.check(0, "for compute capability 9.0", call(link, "--only", "yardsticks"))
        self.assertTrue((self.package / "results/yardsticks.json").exists())


class Steps(Package):
    def names(self, out):
        return [json.loads(line)["step"] for line in (out / "steps.jsonl").read_text().splitlines()]

    def test_groups_and_single_steps(self):
        out = self.home / "out"
        done = self.run_package("--out", out, "--only", "topk_float32,merge,gpu_select")
        self.check(0, "6 ok, 0 failed, 0 not run", done)
        self.assertEqual(self.names(out),
                         ["gpu_select", "topk_float32", "merge_float32", "merge_float64",
                          "merge_bfloat16", "merge_float16"])

    def test_programs_find_the_libraries_of_the_package(self):
        needs = '#!/bin/sh\ncase $LD_LIBRARY_PATH in */mpi/lib*) ;; *) exit 127 ;; esac\n'
        (self.package / "mpi/lib").mkdir(parents=True)
        manifest = self.package / "MANIFEST"
        manifest.write_text("".join(line for line in manifest.read_text().splitlines(True) if "bin/" not in line))
        for name, text in (("topk_perf", TOPK_PERF), ("verbs_perf", TOPK_PERF), ("test_gpu", TEST_GPU)):
            (self.package / "bin" / name).write_text(text.replace("#!/bin/sh\n", needs))
        tool = self.home / "compute-sanitizer"
        tool.write_text('#!/bin/sh\nwhile [ "${1##*/}" != test_gpu ]; do shift; done\nexec "$@"\n')
        tool.chmod(0o755)
        done = self.run_package("--only", "hello_topk,gpu_select,gpu_large,verbs_push_sum_p2,memcheck_select",
                                PATH=f"{self.home}:{os.environ['PATH']}", LD_LIBRARY_PATH="")
        self.check(0, "5 ok, 0 failed, 0 not run", done)

    def test_an_unknown_gpu_step_is_refused(self):
        done = self.run_package("--only", "hello_topk,gpu_nothing")
        self.check(1, "there is no step gpu_nothing", done)

    def test_tests_run_at_the_same_time(self):
        (self.package / "bin/test_gpu").write_text(MEETING)
        manifest = self.package / "MANIFEST"
        manifest.write_text("".join(line for line in manifest.read_text().splitlines(True) if "bin/" not in line))
        out = self.home / "out"
        done = self.run_package("--out", out, "--only", "tests", "--jobs", "2", MEETING=str(self.home))
        self.check(1, "2 ok, 1 failed, 0 not run", done)
        self.assertEqual(sorted(self.names(out)), ["gpu_a", "gpu_b", "gpu_c"])
        self.assertRegex(done.stdout, "gpu_c +[0-9]+ s  FAILED: exit status 3")
        self.assertEqual((out / "gpu_b.log").read_text(), "met\n")
        files = {"steps.jsonl", "summary.txt", "gpu_a.log", "gpu_b.log", "gpu_c.log"}
        self.assertEqual(self.packed(out), files)
        self.assertEqual({path.name for path in out.iterdir()}, files)
        for name in ("a", "b"):
            (self.home / name).unlink()
        # Alone, a waits for b until no time is left.
        alone = self.run_package("--out", out, "--only", "tests", "--jobs", "1", "--limit", "12", MEETING=str(self.home))
        self.check(1, "0 ok, 1 failed, 2 not run", alone)
        self.assertRegex(alone.stdout, "gpu_b +0 s  not run: the time was up")

    def add_nccl(self):
        (self.package / "nccl").mkdir()
        (self.package / "nccl/libnccl.so.2").write_text("")

    def test_over_nccl(self):
        self.add_nccl()
        out = self.home / "out"
        self.check(0, "14 ok, 0 failed, 0 not run", self.run_package("--out", out, "--only", "nccl"))
        self.assertEqual(self.names(out),
                         ["gpu_nccl", "gpu_nccl_dense", "gpu_nccl_group", "gpu_nccl_sparse",
                          "gpu_nccl_steps", "nccl_sparse_allreduce", "nccl_gtopk_allreduce",
                          "nccl_whole", "nccl_tensors", "nccl_gtopk_small_g0", "nccl_gtopk_small_g1", "nccl_push_sum",
                          "gpu_nccl_two_ranks", "gpu_nccl_two_ranks_verbs"])
        command = json.loads((out / "steps.jsonl").read_text().splitlines()[0])["command"]
        self.assertIn("LD_LIBRARY_PATH=nccl:mpi/lib", command)
        self.check(0, "1 ok", self.run_package("--only", "gpu_nccl"))

    def test_over_mpi(self):
        self.check(1, "not run: no Open MPI in the package here", self.run_package("--only", "mpi"))
        (self.package / "mpi/bin").mkdir(parents=True)
        for path, text in ((self.package / "mpi/bin/mpirun", MPIRUN),
                           (self.package / "bin/test_mpi_devices", TEST_GPU)):
            path.write_text(text)
            path.chmod(0o755)
        out = self.home / "out"
        self.check(0, "10 ok, 0 failed, 0 not run", self.run_package("--out", out, "--only", "mpi"))
        verbs = ["mpi_sparse_allreduce_p2", "mpi_sparse_allreduce_small_p2",
                 "mpi_gtopk_allreduce_p2", "mpi_gtopk_allreduce_small_p2", "mpi_sparse_alltoall_p2",
                 "mpi_push_sum_p2"]
        self.assertEqual(self.names(out),
                         ["gpu_mpi_p2", "gpu_mpi_direct_p2", "gpu_mpi_p4", "gpu_mpi_direct_p4", *verbs])
        command = json.loads((out / "steps.jsonl").read_text().splitlines()[4])["command"]
        self.assertIn("LD_LIBRARY_PATH=mpi/lib", command)
        self.assertIn("sparse_allreduce_perf --memory device --transport mpi", command)
        for name in verbs:
            self.check(0, "1 ok", self.run_package("--only", name))
            self.assertTrue((self.package / f"results/{name}.json").exists())
        done = self.run_package("--only", "gpu_mpi_p2,gpu_mpi_p4,mpi_push_sum_p2", STUB="5",
                                STUB_TEST="77")
        self.check(1, "0 ok, 1 failed, 2 not run", done)

    def test_failures_of_ranks_that_share_a_gpu_are_ignored(self):
        self.add_nccl()
        done = self.run_package("--only", "gpu_nccl,gpu_nccl_two_ranks,hello_topk", STUB_TEST="5")
        self.check(1, "1 ok, 1 failed, 1 not run", done)
        self.assertIn("failed, which decides nothing: exit status 5", done.stdout)

    def test_no_nccl(self):
        tools = self.home / "tools"
        tools.mkdir()
        for name in ("ldconfig", "python3"):
            (tools / name).write_text("#!/bin/sh\n")
            (tools / name).chmod(0o755)
        done = self.run_package("--only", "nccl", PATH=f"{tools}:{os.environ['PATH']}")
        self.check(1, "not run: no libnccl.so.2 here", done)

    def test_failures_and_skipped_steps(self):
        self.check(1, "0 ok, 1 failed", self.run_package("--only", "yardsticks", STUB="5"))
        self.check(1, "nothing was run", self.run_package("--only", "yardsticks", "--limit", "1"))
        self.check(1, "0 ok, 0 failed, 1 not run",
                   self.run_package("--only", "tests", STUB_TEST="77"))

    def test_only_files_of_this_run_are_packed(self):
        out = self.home / "out"
        self.check(0, "4 ok", self.run_package("--out", out, "--only", "topk"))
        self.assertIn("topk_float32.json", self.packed(out))
        self.check(0, "1 ok", self.run_package("--out", out, "--only", "yardsticks"))
        self.assertEqual(self.packed(out), {"steps.jsonl", "summary.txt", "yardsticks.json",
                                            "yardsticks.log"})
        self.assertTrue((out / "topk_float32.json").exists())


class Configuration(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        self.nvcc = self.home / "nvcc"
        self.nvcc.write_text("#!/bin/sh\necho no such host compiler >&2\nexit 1\n")
        self.nvcc.chmod(0o755)
        (self.home / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.24)\nproject(small LANGUAGES NONE)\n"
            f"include({ROOT}/cmake/SparsecollCuda.cmake)\n")

    def configure(self, cuda, **environment):
        done = call(CMAKE, "-S", self.home, "-B", self.home / "build", f"-DSPARSECOLL_CUDA={cuda}",
                    **environment)
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    def test_an_nvcc_that_cannot_compile(self):
        status, said = self.configure("AUTO", CUDACXX=str(self.nvcc))
        self.assertEqual(status, 0, said)
        self.assertIn(f"CUDA: no ({self.nvcc} is there, but cannot compile", said)
        # The second configuration searches for nvcc again.
        status, said = self.configure("ON", CUDACXX=str(self.nvcc))
        self.assertEqual(status, 1, said)
        self.assertIn("cannot compile", said)
        status, said = self.configure("OFF")
        self.assertEqual(status, 0, said)
        self.assertIn("CUDA: no (SPARSECOLL_CUDA=OFF)", said)

    def test_a_named_nvcc_that_is_broken(self):
        (self.home / "build").mkdir()
        (self.home / "build/CMakeCache.txt").write_text(
            f"CMAKE_CUDA_COMPILER:FILEPATH={self.nvcc}\n")
        status, said = self.configure("AUTO")
        self.assertEqual(status, 0, said)
        self.assertIn("lists none: no nvcc, or a broken one", said)


if __name__ == "__main__":
    for script in ("perf/gpu.sh", "perf/device/run.sh"):
        assert (ROOT / script).stat().st_mode & stat.S_IXUSR, script
    unittest.main(argv=sys.argv[:1])
