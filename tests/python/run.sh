#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# run.sh MODULE,... SCRIPT [ARGUMENT...]
# Runs a script with the first Python that has all modules: `python3` of the PATH, or the system's.
# Exits with 77 if none has them; ctest then counts the test as skipped. Under mpirun ranks print
# the reason once.
set -euo pipefail
modules=$1
shift
for python in "${SPARSECOLL_PYTHON:-python3}" /usr/bin/python3; do
  if "$python" -c "import $modules" 2>/dev/null; then
    exec "$python" -B "$@"
  fi
done
[ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" != 0 ] || echo "SKIPPED: no Python with $modules"
exit 77
