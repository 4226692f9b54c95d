#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# make-site.sh [FOLDER]
# Makes the site of the documentation: README, the pages of docs/ and perf/, the reference of the C and C++
# API, with a search over all of it. The site is in FOLDER/html (build/site/html); it needs no server.
# Installs Doxygen and Sphinx where they are missing. docs/testing.md says how pages are checked.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build/site}

scripts/install-packages.sh doxygen python3-sphinx python3-myst-parser python3-breathe furo
mkdir -p "$folder"
# These packages are those of the system's Python.
/usr/bin/python3 -B scripts/site/make_site.py . "$folder"
