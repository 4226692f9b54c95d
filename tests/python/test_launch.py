# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""sparsecoll.torch.launch: what processes get, and how failures end."""

import subprocess
import sys
import tempfile
import time
import unittest


def launch(number, program, *options):
    """Runs a program under the launcher. Returns the exit code, the output and the seconds."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        script.write(program)
        script.flush()
        start = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "sparsecoll.torch.launch", "-n", str(number), *options, script.name,
             "--flag", "x"], capture_output=True, text=True, timeout=120, check=False)
        return done.returncode, done.stdout, time.monotonic() - start


class Launch(unittest.TestCase):
    def test_environment_and_arguments(self):
        program = ("import os, sys\n"
                   "names = 'RANK LOCAL_RANK WORLD_SIZE MASTER_ADDR'.split()\n"
                   "words = [os.environ[name] for name in names] + sys.argv[1:]\n"
                   "os.write(1, (' '.join(words) + '\\n').encode())\n"  # one write, one line
                   "assert int(os.environ['MASTER_PORT']) > 0\n")
        code, output, _ = launch(2, program)
        self.assertEqual((code, sorted(output.split("\n"))),
                         (0, ["", "0 0 2 127.0.0.1 --flag x", "1 1 2 127.0.0.1 --flag x"]))
        code, output, _ = launch(1, program, "--nodes=2", "--node=1", "--address=10.0.0.1",
                                 "--port=5000")
        self.assertEqual((code, output), (0, "1 0 2 10.0.0.1 --flag x\n"))

    def test_a_failure_ends_the_others(self):
        program = ("import os, sys, time\n"
                   "if os.environ['RANK'] == '1': sys.exit(3)\n"
                   "time.sleep(100)\n")
        code, _, seconds = launch(3, program)
        self.assertEqual(code, 3)
        self.assertLess(seconds, 60)

    def test_a_signal(self):
        code, _, _ = launch(1, "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
        self.assertEqual(code, 128 + 9)

    def test_several_machines_need_a_port(self):
        self.assertEqual(launch(1, "", "--nodes=2")[0], 2)


if __name__ == "__main__":
    unittest.main()
