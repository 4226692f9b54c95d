#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# Makes the site of the documentation. docs/testing.md says how its pages are checked.
usage="usage: scripts/make-site.sh [FOLDER]
  FOLDER  gets the site in its subfolder html (build/site)
The site has README, the pages of docs/ and perf/, the reference of the C and C++ API, and a search over all of it. It
needs no server. Installs Doxygen and Sphinx where they are missing."
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/options.sh
. scripts/options.sh
case ${1:-} in
  -h | --help) echo "$usage" && exit 0 ;;
  -*) no_option "$1" "$usage" ;;
esac
folder=${1:-build/site}

scripts/install-packages.sh doxygen python3-sphinx python3-myst-parser python3-breathe furo
mkdir -p "$folder"
# These packages are those of the system's Python.
/usr/bin/python3 -B scripts/site/make_site.py . "$folder"
