#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""check_quick.py ROOT CTEST BUILD: tests/run.sh --quick must build the programs of the tests that it selects.

Other tests run from a build of everything, where a program that --quick forgets is there all the same.
"""

import json
import pathlib
import re
import subprocess
import sys


def main(root, ctest, build):
    script = (pathlib.Path(root) / "tests/run.sh").read_text(encoding="utf-8")
    block = re.search(r"^  --quick\)\n(.*?)^    ;;\n", script, re.M | re.S).group(1)
    targets = set(re.search(r"targets=\((.*?)\)", block, re.S).group(1).split())
    regex = re.search(r"--tests-regex '(.*?)'", block).group(1)
    listed = subprocess.run([ctest, "--test-dir", build, "--show-only=json-v1", "--tests-regex", regex],
                            capture_output=True, text=True, check=True).stdout
    tests = json.loads(listed)["tests"]
    # The program of an example has the name of its target without this.
    programs = {target.removeprefix("example_"): target for target in targets}
    wrong, used = [], set()
    for test in tests:
        names = {pathlib.Path(word).name for word in test.get("command", [])}
        found = {programs[name] for name in names if name in programs}
        if not found:
            wrong.append(f"{test['name']}: its program is not among the targets: {test.get('command')}")
        used |= found
    wrong += [f"no test uses the target {target}" for target in sorted(targets - used)]
    if not tests:
        wrong.append(f"no test matches {regex}")
    if wrong:
        sys.exit("tests/run.sh --quick:\n  " + "\n  ".join(wrong))
    print(f"{len(tests)} tests of {len(targets)} targets")


if __name__ == "__main__":
    main(*sys.argv[1:])
