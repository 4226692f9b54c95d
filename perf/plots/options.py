# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""The command lines of the scripts in perf/."""

import argparse
import difflib
import sys


class Parser(argparse.ArgumentParser):
    """Says which option was probably meant if there is none of a name."""

    def __init__(self, **facts):
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **facts)

    def error(self, message):
        known = list(self._option_string_actions)
        for word in sys.argv[1:]:
            name = word.split("=")[0]
            if name == "--":
                break
            if name.startswith("--") and not any(each.startswith(name) for each in known):
                nearest = difflib.get_close_matches(name, known, 1)
                message = f"there is no option {name}" + (f"; did you mean {nearest[0]}?" if nearest else "")
                break
        super().error(message)
