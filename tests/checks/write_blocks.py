#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""write_blocks.py PAGE FOLDER: writes the blocks of a page that are files, for a test that builds them.

Such a block has the comment <!-- file: NAME --> before it; NAME is its path below FOLDER.
"""

import pathlib
import sys

from check_docs import blocks_of, write_file

blocks = [block for block in blocks_of(pathlib.Path(sys.argv[1])) if block.marks.get("file")]
for each in blocks:
    write_file(each, pathlib.Path(sys.argv[2]))
sys.exit(0 if blocks else 1)
