#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the Debian packages of sparsecoll for this system. docs/packages.md lists them.
usage="usage: scripts/make-packages.sh [FOLDER]
  FOLDER  gets the packages (build/packages/deb); packages that are there are deleted
Installs what the build needs. Checks the packages with lintian where it is installed. DEBFULLNAME and DEBEMAIL name
their maintainer."
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/options.sh
. scripts/options.sh
case ${1:-} in
  -h | --help) echo "$usage" && exit 0 ;;
  -*) no_option "$1" "$usage" ;;
esac
folder=$(realpath -m "${1:-build/packages/deb}")

scripts/install-packages.sh build-essential gfortran cmake ninja-build pkg-config libopenmpi-dev openmpi-bin \
  libucx-dev libhwloc-dev nlohmann-json3-dev libcli11-dev file doxygen python3

cmake --preset packages
cmake --build --preset packages --parallel "$(nproc)"
mkdir -p "$folder"
rm -f "$folder"/*.deb
cpack --config build/packages/CPackConfig.cmake -B "$folder"
rm -rf "$folder/_CPack_Packages"
ls -l "$folder"
if command -v lintian >/dev/null; then
  suppressed=(--suppress-tags "bogus-mail-host,bogus-mail-host-in-debian-changelog")
  [ -z "${DEBEMAIL:-}" ] || suppressed=()  # without it the maintainer has no address
  lintian --fail-on error "${suppressed[@]}" "$folder"/*.deb
fi
