#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds everything and runs the tests, after installing what is missing.
usage="usage: tests/run.sh [--quick | --all | TEST... | --asan [TEST...] | --tsan [TEST...]]
  (none)  all tests but those that need a GPU or 9 GB of memory, train for minutes or take long
  --quick a few tests over threads, MPI and UCX with smaller inputs, and the examples, without CUDA
  --all   the last two, too
  --asan  unit tests, tests with ranks as threads and random schedules, AddressSanitizer and UBSan,
          smaller inputs
  --tsan  the same with ThreadSanitizer
  TEST    only these; nothing else is built
Examples:
  tests/run.sh --quick
  tests/run.sh ranks_queue unit_core
  tests/run.sh --asan ranks_definition"
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/options.sh
. scripts/options.sh

preset=host
targets=(all)
select=(--label-exclude '^(gpu|convergence|long|large)$')
announcement="On two cores the build takes 7 to 25 minutes, the tests 14 to 31 (idle) or 50 (busy). Disk: 3 GB, with nvcc 6."
left_out="tests that train or take long (tests/run.sh --all), tests that need a GPU (perf/gpu.sh), or 9 GB of memory (label large)"
name_tests() {
  targets=("${@/#/test_}")
  select=(--tests-regex "^($(IFS='|' && echo "$*"))\$")
  announcement="On two idle cores a first build of one test takes 2 minutes."
  left_out=
}
case ${1:-} in
  '') ;;
  --quick)
    preset=quick
    targets=(test_unit_core test_ranks_definition test_ranks_feedback test_ranks_push_sum test_ranks_group
      test_mpi_definition test_mpi_push_sum example_threads example_allreduce example_allreduce_ucx)
    select=(--tests-regex '^(unit_core|ranks_(definition|feedback|push_sum|group|ucx_definition)|mpi_(definition|push_sum)\.np3|example\.(threads|allreduce_ucx|allreduce\.np4))$')
    announcement="On two idle cores this takes 4 to 5 minutes, most of it the build."
    left_out="all other tests (tests/run.sh)"
    export SPARSECOLL_TEST_SMALL=1
    ;;
  --all)
    select=(--label-exclude '^(gpu|large)$')
    announcement="On two cores the build takes 7 to 25 minutes, the tests more than 30."
    left_out="tests that need a GPU (perf/gpu.sh), or 9 GB of memory (label large)"
    ;;
  --asan | --tsan)
    preset=${1#--}
    targets=(tests_unit tests_ranks test_fault_threads_random_schedule test_fault_soak_threads)
    select=(--label-regex '^(unit|ranks|schedule)$' --exclude-regex '^(cxx20|fortran|perf|example|unit_transport_ucx|ranks_ucx)')
    announcement="This takes longer than a run without sanitizer: on two idle cores about 30 minutes."
    left_out="tests over MPI and of programs (tests/run.sh)"
    shift
    if [ $# -gt 0 ]; then name_tests "$@"; fi
    export SPARSECOLL_TEST_SMALL=1
    ;;
  -h | --help)
    echo "$usage"
    exit
    ;;
  -*) no_option "$1" "$usage" ;;
  *) name_tests "$@" ;;
esac

echo "$announcement"
scripts/install-packages.sh build-essential gfortran cmake ninja-build pkg-config libopenmpi-dev \
  openmpi-bin libucx-dev libhwloc-dev catch2 nlohmann-json3-dev libcli11-dev ccache python3 iproute2 file
# The tests of the Python module are skipped where these are missing.
scripts/install-packages.sh python3-numpy python3-mpi4py ||
  echo "no numpy or mpi4py here: tests of the Python module are skipped"
scripts/install-packages.sh python3-torch || echo "no PyTorch here: its tests are skipped"
scripts/install-packages.sh libtorch-dev || echo "no LibTorch here: its example is not built"

# Sanitizers of older compilers cannot start where addresses are randomised widely.
fixed_addresses=()
if [[ $preset == [at]san ]] && setarch "$(uname -m)" -R true 2>/dev/null; then
  fixed_addresses=(setarch "$(uname -m)" -R)
fi

cmake --preset "$preset"
cmake --build --preset "$preset" --parallel "$(nproc)" --target "${targets[@]}"
results=$PWD/build/$preset/tests.xml
rm -f "$results"
status=0
# Twice as many tests as CPUs: many wait for timeouts or for their ranks.
"${fixed_addresses[@]}" ctest --test-dir "build/$preset" --output-on-failure --no-tests=error \
  --parallel "$((2 * $(nproc)))" --output-junit "$results" "${select[@]}" || status=$?
[ ! -f "$results" ] || tests/report_skipped.py "$results" "build/$preset/CMakeCache.txt"
[ -z "$left_out" ] || echo "not run: $left_out"
exit "$status"
