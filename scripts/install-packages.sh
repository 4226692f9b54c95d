#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# install-packages.sh PACKAGE...
# Installs the Debian packages that are missing, by apt-get as root, or by sudo if it needs no
# password. If neither is possible, it prints the command to run and exits with 1. It changes
# nothing if all packages are installed.
set -euo pipefail

if ! command -v dpkg >/dev/null; then
  echo "This system has no dpkg. Needed here are the equivalents of: $*" >&2
  exit 0
fi

missing=()
for package in "$@"; do
  if [[ $(dpkg -s "$package" 2>/dev/null) != *"Status: install ok installed"* ]]; then
    missing+=("$package")
  fi
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! sudo -n true 2>/dev/null; then
    echo "Packages are missing, and this user may not install them. Please run:" >&2
    echo "  sudo apt-get update && sudo apt-get install -y ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo -n)
fi

echo "Installing ${missing[*]}"
apt_get() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@"
}
apt_get update
apt_get install --no-install-recommends "${missing[@]}"
