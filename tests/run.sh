#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds everything and runs the tests, after installing what is missing.
usage="usage: tests/run.sh [--all | TEST... | --asan [TEST...] | --tsan [TEST...]]
  (none)  all tests but those that need a GPU, train for minutes or take long
  --all   these two, too
  --asan  unit tests, tests with ranks as threads and random schedules, AddressSanitizer and UBSan,
          smaller inputs
  --tsan  the same with ThreadSanitizer
  TEST    only these, ranks_queue for example; nothing else is built"
set -euo pipefail
cd "$(dirname "$0")/.."

preset=host
targets=(all)
select=(--label-exclude '^(gpu|convergence|long)$')
name_tests() {
  targets=("${@/#/test_}")
  select=(--tests-regex "^($(IFS='|' && echo "$*"))\$")
}
case ${1:-} in
  '') ;;
  --all) select=(--label-exclude '^gpu$') ;;
  --asan | --tsan)
    preset=${1#--}
    targets=(tests_unit tests_ranks test_fault_threads_random_schedule)
    select=(--label-regex '^(unit|ranks|schedule)$' --exclude-regex '^(cxx20|fortran|perf|example)')
    shift
    if [ $# -gt 0 ]; then name_tests "$@"; fi
    export SPARSECOLL_TEST_SMALL=1
    ;;
  -h | --help)
    echo "$usage"
    exit
    ;;
  -*)
    echo "$usage" >&2
    exit 2
    ;;
  *) name_tests "$@" ;;
esac

scripts/install-packages.sh build-essential gfortran cmake ninja-build pkg-config libopenmpi-dev \
  openmpi-bin catch2 nlohmann-json3-dev libcli11-dev ccache python3 iproute2

# Sanitizers of older compilers cannot start where addresses are randomised widely.
fixed_addresses=()
if [ "$preset" != host ] && setarch "$(uname -m)" -R true 2>/dev/null; then
  fixed_addresses=(setarch "$(uname -m)" -R)
fi

cmake --preset "$preset"
cmake --build --preset "$preset" --parallel "$(nproc)" --target "${targets[@]}"
exec "${fixed_addresses[@]}" ctest --test-dir "build/$preset" --output-on-failure \
  --no-tests=error --parallel "$(nproc)" "${select[@]}"
