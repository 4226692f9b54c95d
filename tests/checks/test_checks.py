#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""test_checks.py OPTIONS: tests that the checks find faults.

OPTIONS are those of check_docs.py except --root. The check of the documentation runs on small pages.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
DOCS_OPTIONS = sys.argv[1:]
SPDX = (
    "// SPDX-FileCopyrightText: 2026 The sparsecoll authors\n"
    "// SPDX-License-Identifier: Apache-2.0\n"
)


class Tree(unittest.TestCase):
    """A small repository in a temporary folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run_check(self, script, *arguments):
        command = [sys.executable, "-B", HERE / script, *arguments]
        return subprocess.run(command, capture_output=True, text=True)


class Includes(Tree):
    GOOD = {
        "src/core/span.hpp": "#include <cstddef>\n#include <sparsecoll/sparsecoll.h>\n",
        "src/kernels/top_k.hpp": '#include "core/span.hpp"\n',
        "src/transport/transport.hpp": '#include "core/span.hpp"\n',
        "src/transport/mpi_transport.hpp": "#ifndef SPARSECOLL_TRANSPORT_MPI_TRANSPORT_HPP_\n"
        '#include <mpi.h>\n#include "transport/transport.hpp"\n',
        "src/collectives/oktopk.cpp": '#include "kernels/top_k.hpp"\n'
        '#include "transport/transport.hpp"\n',
        "src/api/comm_mpi.cpp": '#include "transport/mpi_transport.hpp"\n',
    }
    BAD = {
        "up": ("src/core/bad.hpp", '#include "kernels/top_k.hpp"\n'),
        "kernels meet transport": ("src/kernels/bad.hpp", '#include "transport/transport.hpp"\n'),
        "transport meets kernels": ("src/transport/bad.hpp", '#include "../kernels/top_k.hpp"\n'),
        "up to the border": ("src/collectives/bad.cpp", '#include "api/comm_mpi.cpp"\n'),
        "mpi.h in a collective": ("src/collectives/bad.cpp", "# include <mpi.h>\n"),
        "mpi by a header": ("src/api/bad.cpp", '#include "transport/mpi_transport.hpp"\n'),
        "mpi in a collective by a header": (
            "src/collectives/bad_mpi.cpp", '#include "transport/mpi_transport.hpp"\n'),
        "cuda in a collective": ("src/collectives/bad.cu", "#include <cuda_runtime.h>\n"),
        "nccl in a host kernel": ("src/kernels/bad.cpp", '#include "nccl.h"\n'),
        "choice in code": ("src/api/bad.cpp", "#ifdef SPARSECOLL_HAVE_CUDA\n"),
        "no layer": ("src/util/bad.cpp", ""),
        "no such file": ("src/core/bad.cpp", '#include "core/nothing.hpp"\n'),
    }

    def setUp(self):
        super().setUp()
        for name, text in self.GOOD.items():
            self.write(name, text)

    def test_a_good_tree_passes(self):
        done = self.run_check("check_includes.py", self.root)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_each_fault_is_found(self):
        for what, (name, text) in self.BAD.items():
            with self.subTest(what):
                self.write(name, text)
                done = self.run_check("check_includes.py", self.root)
                self.assertEqual(done.returncode, 1)
                self.assertIn(name, done.stdout)
                (self.root / name).unlink()


class Spdx(Tree):
    def test_a_file_without_header_is_found(self):
        self.write("src/good.cpp", SPDX)
        self.assertEqual(self.run_check("check_file_heads.py", self.root).returncode, 0)
        self.write("tool", "#!/bin/sh\n")
        done = self.run_check("check_file_heads.py", self.root)
        self.assertEqual(done.returncode, 1)
        self.assertIn("tool", done.stdout)

    def test_a_header_in_one_line_is_found(self):
        self.write("src/bad.cpp", SPDX.replace("\n// ", " ", 1))
        done = self.run_check("check_file_heads.py", self.root)
        self.assertEqual(done.returncode, 1)
        self.assertIn("src/bad.cpp", done.stdout)


class Paths(Tree):
    GOOD = (
        "[page](README.md)", "[place](README.md#a-place-of-its-own)\n# A *place*, of its own", "[site](https://example.org)", "`src/core`",
        "`src/core/arena.hpp`", "`src/core/arena.{hpp,cpp}`", "`src/*/arena.cpp`", "`arena.hpp`",
        "`src/<layer>/<file>.cpp`", "`and/or`", "`x.y`", "<!-- elsewhere: mine.cpp -->\n`mine.cpp`",
        "`Arena`", "`Arena::take`", "`Arena::take()`", "`core::Arena`", "`std::vector`", "`take_span`", "`TakeAll`",
        "`any word`", "`unit_nothing`", "`Word`", "`word`", "```text\narena.hpp core/arena.hpp src/core/arena.cpp x.y\n```",
        "```sh\nrm nothing.hpp\n```",
    )
    BAD = (
        "[page](nothing.md)", "[place](README.md#nothing)", "[place](#nothing)", "`src/core/nothing.hpp`", "`src/kernels`", "`arena.cu`",
        "`src/core/arena.{c,h}`", "`src/*/nothing.cpp`", "`docs/nothing.md --option`",
        "`Arena::give`", "`Arena::commented`", "`Nothing::take`", "`take_nothing`", "`TakeNothing`",
        "```text\nsee (nothing.hpp)\n```", "```text\ncore/nothing.hpp\n```",
        "```text\nsrc/nothing/arena.hpp: x\n```",
    )

    def check(self, text):
        self.write("src/core/arena.hpp", "namespace core {\nclass Arena final : public Base {\n"
                   "  int take();  // commented\n  int take_span();\n};\nclass Nothing;\n}\n")
        self.write("src/core/arena.cpp", "int kTakeAll, give;\n")
        self.write("docs/page.md", "")
        self.write("README.md", text)
        return self.run_check("check_paths.py", self.root)

    def test_names_that_exist_pass(self):
        done = self.check("\n".join(self.GOOD))
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_each_fault_is_found(self):
        for text in self.BAD:
            with self.subTest(text):
                done = self.check(text)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn("README.md", done.stdout)


class Messages(Tree):
    SAID = ('fail(sparsecollTimeout, "k: expected ", 1, ", got "\n     "much");\n'
            'fail(code, name, ": expected an \\"x\\"");\n')
    ROWS = ("k: expected ..., got much", 'NAME: expected an "x"')
    NEW = {
        "fail": ("src/b.cpp", 'fail(sparsecollTimeout,\n  "a new ", 1, " mess"\n"age");'),
        "Error": ("src/b.hpp", 'throw Error(code, text("a new ", x, " message"));'),
        "list": ("src/b.cu", 'return {sparsecollInternalError, "a new message"};'),
        "sum": ("include/b.hpp", 'throw Error(sparsecollTimeout, std::string(name) + ": a new message");'),
        "choice": ("src/b.cpp",
                   'fail(sparsecollTimeout, one ? kind == 2 ? "k: expected 1, got much" : "a new message" : "x");'),
        "helper": ("src/b.cpp", 'file.refuse("a new message with", 1, 2);'),
        "helper of a file": ("src/core/json.cpp", 'wrong(std::string("a new message"));'),
        "text": ("src/b.cpp", 'std::string why() { return text("a new ", x, " message of ", y); }'),
        "constant": ("src/b.cpp", 'constexpr const char* kWhy = "a new message";\nfail(code, kWhy);'),
        "log": ("src/b.cpp", 'log(LogLevel::warn, "a new ", x, " message");'),
        "stderr": ("tools/b.cpp", 'std::fprintf(stderr, "b: no %d, a new message\\n", x);'),
        "exception": ("perf/b.cpp", 'throw std::runtime_error("a new message of " + name);'),
        "Python": ("src/python/b.py", 'raise ValueError(f"a {new} message: "\n                 "expected another")'),
        "script of Python": ("perf/b", '#!/usr/bin/env python3\nimport sys\nsys.exit("a new message")'),
        "script": ("perf/b.sh", 'die() { exit "${2:-1}"; }\ntrue || die "a new $x message"'),
    }
    OTHERS = {
        "comment": ("src/b.cpp", '// fail(sparsecollTimeout, "a new message");\n/* fail(code, "a new message") */'),
        "declaration": ("src/b.hpp", "[[noreturn]] void refuse(const char* what) const;"),
        "forwarded": ("src/b.cpp", 'fail(error.code(), ": ", error.what());'),
        "name": ("src/b.cpp", 'return text("rank ", rank);'),
        "option of a script": ("perf/b.sh", 'die() { exit "${2:-2}"; }\ndie "a new $x message"'),
    }

    def check(self, *messages, cells="cause | cure"):
        self.write("src/a.cpp", self.SAID)
        rows = "".join(f"| `{message}` | {cells} |\n" for message in messages)
        self.write("docs/messages.md", f"# Messages\n\n| message | cause | cure |\n|---|---|---|\n{rows}")
        return self.run_check("check_messages.py", self.root)

    def test_messages_of_the_library_pass(self):
        for more in ((), ("send: ...",), ("... got much",)):
            done = self.check(*self.ROWS, *more)
            self.assertEqual(done.returncode, 0, done.stdout)

    def test_others_are_found(self):
        for message in ("k: expected ... got nothing", "expected y", 'send: expected an "y"'):
            self.assertEqual(self.check(*self.ROWS, message).returncode, 1, message)

    def test_each_message_needs_a_row(self):
        for rows in (self.ROWS[:1], self.ROWS[1:], (), ("...: expected ..., got ...",)):
            self.assertEqual(self.check(*rows).returncode, 1, rows)
        for what, (path, text) in self.NEW.items():
            with self.subTest(what):
                self.write(path, text)
                done = self.check(*self.ROWS)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertRegex(done.stdout, rf"{path}:\d: docs/messages.md does not explain: .*message")
                self.write(path, "")
        self.assertEqual(self.check(*self.ROWS).returncode, 0)

    def test_other_text_needs_none(self):
        for what, (path, text) in self.OTHERS.items():
            with self.subTest(what):
                self.write(path, text)
                done = self.check(*self.ROWS)
                self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_message_without_words_is_a_fault(self):
        self.write("src/b.cpp", "void complain(const char* what) {\n  fail(sparsecollTimeout, what);\n}")
        done = self.check(*self.ROWS)
        self.assertEqual(done.returncode, 1)
        self.assertIn("src/b.cpp:2: a message without words", done.stdout)

    def test_a_row_needs_cause_and_cure(self):
        for cells in ("cause | ", "cause"):
            self.assertEqual(self.check(*self.ROWS, cells=cells).returncode, 1)


class Docs(Tree):
    PROGRAM = "#include <sparsecoll/sparsecoll.h>\nint main(void) {{ int v; return {}; }}\n"
    PRINTS = ('<!-- run -->\n```c\n#include <stdio.h>\nint main(void) {{ return puts("x") < 0; }}\n```\n'
              "<!-- output -->\n```text\n{}\n```\n")
    GOOD = {
        "statements": "<!-- given: sparsecollComm_t comm; -->\n```c\nint rank;\n"
        "if (sparsecollCommRank(comm, &rank) != sparsecollSuccess) abort();\n```\n",
        "declarations": "<!-- file -->\n```cpp\ntemplate <class T>\nT twice(T x) { return x + x; }\n"
        "```\n",
        "file that the next one includes": "<!-- file: src/x.hpp -->\n```cpp\n#pragma once\nint x();\n"
        "```\n<!-- file: src/x.cpp -->\n```cpp\n#include \"x.hpp\"\nint x() { return 1; }\n```\n",
        "program": f"<!-- run -->\n\n```c\n{PROGRAM.format('sparsecollGetVersion(&v)')}```\n",
        "output": PRINTS.format("x"),
        "project": "```cmake\nfind_package(sparsecoll REQUIRED)\nadd_executable(app app.c)\n"
        "target_link_libraries(app PRIVATE sparsecoll::sparsecoll)\n```\n",
        "script": "<!-- run -->\n```sh\ntrue\n```\n",
        "in a list": "- x\n\n  ```json\n  {}\n  ```\n",
    }
    BAD = {
        "unknown function": "```c\nsparsecollNothing();\n```\n",
        "unknown name": "```cpp\nint x = y;\n```\n",
        "file without its includes": "<!-- file: src/x.cpp -->\n```cpp\nstd::string x;\n```\n",
        "program that does not link": "```c\nvoid f(void);\nint main(void) { f(); return 0; }\n```\n",
        "program that fails": f"<!-- run -->\n```c\n{PROGRAM.format('3')}```\n",
        "other output": PRINTS.format("y"),
        "unknown target": "```cmake\nfind_package(sparsecoll REQUIRED)\nadd_executable(app app.c)\n"
        "target_link_libraries(app PRIVATE sparsecoll::nothing)\n```\n",
        "shell syntax": "```sh\nif true\n```\n",
        "missing script": "```sh\nperf/nothing.sh\n```\n",
        "script that fails": "<!-- run -->\n```sh\nfalse\ntrue\n```\n",
        "broken json": "```json\n{\n```\n",
        "no language": "```\nx\n```\n",
        "no end": "```c\nint x;\n",
    }

    def check(self, text):
        self.write("README.md", text)
        return self.run_check("check_docs.py", "--root", self.root, *DOCS_OPTIONS)

    def test_good_blocks_pass(self):
        done = self.check("\n".join(self.GOOD.values()))
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_each_fault_is_found(self):
        for what, text in self.BAD.items():
            with self.subTest(what):
                done = self.check(text)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn("README.md", done.stdout)


class Manual(Tree):
    PAGE = ('.TH "{name}" "{section}" "2026-01-01" "" ""\n.SH NAME\n{name} \\- does it\n.SH SYNOPSIS\nint {name}(void);\n'
            ".SH DESCRIPTION\n{text}\n.SH RETURN VALUE\nzero\n.SH SEE ALSO\n.BR other (3)\n")
    BAD = {
        "no page of a function": {"man3/first.3": None},
        "no page of a program": {"man1/program.1": None},
        "no page of that name": {"man3/other.3": None},
        "no section": {"man3/first.3": PAGE.format(name="first", section=3, text="").replace("RETURN", "GIVES")},
        "no summary": {"man3/first.3": PAGE.format(name="first", section=3, text="").replace("does it", "")},
        "bad markup": {"man3/first.3": PAGE.format(name="first", section=3, text=r"\\fQ.\n.nothing 3")},
    }

    def check(self, changes):
        pages = {f"man{section}/{name}.{section}": self.PAGE.format(name=name, section=section, text="It does it.")
                 for name, section in (("first", 3), ("other", 3), ("program", 1))}
        self.write("functions.txt", "first VERSION\n")
        for name, text in (pages | changes).items():
            self.write(name, text or "")
            if text is None:
                (self.root / name).unlink()
        return self.run_check(
            "check_manual.py", self.root, "--functions", self.root / "functions.txt", "--programs", "program")

    def test_good_pages_pass(self):
        done = self.check({})
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_each_fault_is_found(self):
        for what, changes in self.BAD.items():
            if what == "bad markup" and not (shutil.which("groff") or shutil.which("mandoc")):
                continue
            with self.subTest(what):
                self.assertEqual(self.check(changes).returncode, 1)


class ManualOfPrograms(Tree):
    HELP = """usage: program [--one]
       LAUNCHER program --two N
Does two things. It does them well.
  --one      does one thing:
               program --one
  --two N    does another thing, of
             which there is more to say

Examples:
  program --one  # first
  program --two 3
exit status: 0; 1 if not
"""

    def test_the_page_has_what_the_help_says(self):
        self.write("program", f"#!/bin/sh\ncat <<'END'\n{self.HELP}END\n")
        script = HERE.parents[1] / "scripts/manual/programs.py"
        page = self.root / "man1/program.1"
        done = self.run_check(script, "1.0", page, "sh", self.root / "program")
        self.assertEqual(done.returncode, 0, done.stderr)
        text = page.read_text().replace(r"\-", "-")
        for part in (
            ".SH NAME\nprogram - does two things\n.SH SYNOPSIS\n.nf\nprogram [--one]\nLAUNCHER program --two N\n.fi\n",
            ".SH DESCRIPTION\nDoes two things.\nIt does them well.\n.SH OPTIONS\n",
            ".TP\n\\fB--one\\fP\ndoes one thing:\n.RS\n.nf\n  program --one\n.fi\n.RE\n.TP\n\\fB--two\\fP N\n",
            "does another thing, of which there is more to say\n.SH EXAMPLES\n.nf\nprogram --one  # first\nprogram --two 3\n",
            ".SH EXIT STATUS\n0; 1 if not\n",
        ):
            self.assertIn(part, text)

    def test_a_help_without_usage_is_refused(self):
        self.write("program", "echo Does a thing.\n")
        done = self.run_check(HERE.parents[1] / "scripts/manual/programs.py", "1.0", self.root / "p.1", "sh", self.root / "program")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("usage", done.stderr)


class Skipped(Tree):
    TEST = '<testcase name="{}" status="notrun"><skipped/><system-out>{}</system-out></testcase>'
    CACHE = (
        "CMAKE_CUDA_COMPILER:STRING=/bin/nvcc\nNCCL_INCLUDE_DIR:PATH=/include\n"
        "SPARSECOLL_DOXYGEN:FILEPATH=/bin/doxygen\nSPARSECOLL_PKG_CONFIG:FILEPATH=/bin/pkg-config\n"
        "SPARSECOLL_MPI:BOOL=ON\nSPARSECOLL_FORTRAN:BOOL=ON\n"
    )

    def report(self, tests, cache):
        passed = '<testcase name="passed" status="run"><system-out>SKIPPED: no</system-out></testcase>'
        self.write("tests.xml", f"<testsuite>{passed}{tests}</testsuite>")
        self.write("CMakeCache.txt", cache)
        script = "../report_skipped.py"
        done = self.run_check(script, self.root / "tests.xml", self.root / "CMakeCache.txt")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_nothing_is_missing(self):
        self.assertEqual(self.report("", self.CACHE), "no test was skipped\n")

    def test_tests_are_listed_by_reason(self):
        tests = self.TEST.format("one", "noise\nSKIPPED: no device\n")
        tests += self.TEST.format("two", "a_perf: --memory device: no device\n")
        tests += self.TEST.format("three", "")
        self.assertEqual(
            self.report(tests, self.CACHE),
            "skipped, 1: it printed no reason: three\nskipped, 2: no device: one, two\n",
        )

    def test_missing_parts_are_named(self):
        cache = self.CACHE.replace("=/bin/doxygen", "=SPARSECOLL_DOXYGEN-NOTFOUND")
        self.assertIn("not built: the reference of the API", self.report("", cache))
        self.assertIn("not built: kernels for GPUs", self.report("", ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
