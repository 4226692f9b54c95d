#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# make-packages.sh [FOLDER]
# Builds the Debian packages of sparsecoll for this system and puts them into FOLDER (build/packages/deb).
# Installs what that needs. Checks them with lintian where it is installed. docs/packages.md lists the packages.
# DEBFULLNAME and DEBEMAIL name their maintainer.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(realpath -m "${1:-build/packages/deb}")

scripts/install-packages.sh build-essential gfortran cmake ninja-build pkg-config libopenmpi-dev openmpi-bin \
  libucx-dev libhwloc-dev nlohmann-json3-dev libcli11-dev file doxygen python3

cmake --preset packages
cmake --build --preset packages --parallel "$(nproc)"
rm -rf "$folder"
cpack --config build/packages/CPackConfig.cmake -B "$folder"
rm -rf "$folder/_CPack_Packages"
ls -l "$folder"
if command -v lintian >/dev/null; then
  suppressed=(--suppress-tags "bogus-mail-host,bogus-mail-host-in-debian-changelog")
  [ -z "${DEBEMAIL:-}" ] || suppressed=()  # without it the maintainer has no address
  lintian --fail-on error "${suppressed[@]}" "$folder"/*.deb
fi
