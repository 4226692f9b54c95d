#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the library and measures sparse allreduces of several ranks, on generated vectors and on
# gradients of a training, compared with MPI's collectives. Writes tables, JSON and pictures.
usage="usage: perf/run.sh [--ranks P] [--quick] [--out DIR]
  --ranks P   number of processes of mpirun (4); may exceed the number of cores
  --quick     takes a minute: small vectors, few calls
  --out DIR   folder of tables, JSON and pictures (build/perf/results)
Examples:
  perf/run.sh --quick
  perf/run.sh --ranks 8 --out results"
set -euo pipefail

ranks=4
quick=0
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/options.sh
. "$root/scripts/options.sh"
build=$root/build/perf
out=$build/results
while [ $# -gt 0 ]; do
  case $1 in
    --ranks | --out)
      [ $# -gt 1 ] || { echo "$1 needs a value" >&2 && exit 2; }
      if [ "$1" = --ranks ]; then ranks=$2; else out=$2; fi
      shift
      ;;
    --quick) quick=1 ;;
    -h | --help) echo "$usage" && exit 0 ;;
    *) no_option "$1" "$usage" ;;
  esac
  shift
done
[[ $ranks =~ ^[1-9][0-9]*$ ]] || { echo "--ranks needs a number, not $ranks" >&2 && exit 2; }
mkdir -p "$out"
out=$(cd "$out" && pwd)

"$root/scripts/install-packages.sh" build-essential cmake ninja-build libopenmpi-dev openmpi-bin libhwloc-dev \
  nlohmann-json3-dev libcli11-dev python3 python3-matplotlib

cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSPARSECOLL_BUILD_TESTS=OFF \
  -DSPARSECOLL_BUILD_PERF=ON -DSPARSECOLL_BUILD_EXAMPLES=ON -DSPARSECOLL_CUDA=OFF
cmake --build "$build" --parallel "$(nproc)"

# These variables let Open MPI start as root and start more ranks than cores. Ranks are not bound to
# cores, because several ranks on one core would measure the scheduler. Other MPIs ignore the
# variables.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none

# job NAME P PROGRAM ARGUMENT...: runs a program under mpirun and keeps its output and its rows. A
# wrong result ends this script.
job() {
  local name=$1 processes=$2 program=$3
  shift 3
  printf '\n== %s: mpirun -n %s %s %s\n' "$name" "$processes" "$program" "$*"
  mpirun -n "$processes" "$build/perf/$program" "$@" -J "$out/$name.json" | tee "$out/$name.txt"
}

# threads_job NAME PROGRAM ARGUMENT...: likewise in one process.
threads_job() {
  local name=$1 program=$2
  shift 2
  printf '\n== %s: %s %s\n' "$name" "$program" "$*"
  "$build/perf/$program" "$@" -J "$out/$name.json" | tee "$out/$name.txt"
}

# train NAME SEED ARGUMENT...: trains the example on its own data.
train() {
  local name=$1 seed=$2
  shift 2
  mpirun -n "$ranks" "$build/docs/examples/train_digits/train_digits" --seed "$seed" "$@" \
    --data-dir "$root/docs/examples/train_digits/data" --json "$out/$name.json"
}

if [ "$quick" = 1 ]; then
  sizes=(-b 256K -e 1M -f 4 --density "0.001,0.01" -n 5 -w 9)
  counts=(2 4)
  size=1M
  window="0.01,0.1,0.5"
  seeds=(1)
  network=resnet20
  epochs=4
  topk=(-b 1M -e 1M -n 5 -w 1)
  slow_steps=40
else
  sizes=(-b 256K -e 16M -f 4 --density "0.001,0.01,0.05" -n 15 -w 9)
  counts=(2 4 8 16)
  size=4M
  window="0.01,0.02,0.05,0.1,0.2,0.3,0.4,0.5"
  seeds=(1 2 3)
  network=resnet50
  epochs=20
  topk=(-b 64M -e 64M -n 7 -w 2)
  slow_steps=200
fi

job sparse_allreduce "$ranks" sparse_allreduce_perf "${sizes[@]}" --feedback 1
job gtopk_allreduce "$ranks" gtopk_allreduce_perf "${sizes[@]}" --feedback 1
job sparse_allreduce_exchange "$ranks" sparse_allreduce_perf "${sizes[@]}" --form sparse
job gtopk_allreduce_exchange "$ranks" gtopk_allreduce_perf "${sizes[@]}" --form sparse

# sparseAlltoall: owners of equal regions, and one owner that has half of the indices.
job sparse_alltoall "$ranks" sparse_alltoall_perf "${sizes[@]}"
job sparse_alltoall_skew "$ranks" sparse_alltoall_perf "${sizes[@]}" --skew 1

# Searches for the best size of groups of the gradients of a network.
job fusion "$ranks" sparse_allreduce_perf --tensors "$root/perf/tensors/$network.txt" \
  --density 0.01 --algo oktopk,topka2a --feedback 1 -n 7 -w 2

# The densities for which TopkA2A was made: above 1 / (2 (P - 1)) it sends less than an allgather,
# below 1/2 less than a dense allreduce.
for count in "$ranks" 8; do
  job "sparse_allreduce_window_p$count" "$count" sparse_allreduce_perf -b "$size" -e "$size" \
    --density "$window" --algo topka2a,allgather,dense,mpi-dense -n 7 -w 2
done

printf '\n== training: %s ranks, density 1%%\n' "$ranks"
rm -f "$out/training.json"
for seed in "${seeds[@]}"; do
  for mode in dense topk oktopk gtopk; do
    train training "$seed" --mode "$mode" --density 0.01 --epochs "$epochs" \
      --dump-gradient "$out/gradient"
  done
done | tee "$out/training.txt"
# Measures on the gradients of the last of these trainings, one file for each rank.
for verb in sparse gtopk; do
  job "${verb}_allreduce_gradient" "$ranks" "${verb}_allreduce_perf" --feedback 1 -n 50 \
    --density 0.001,0.01,0.05 --data "$out/gradient.%r.f32"
done

for count in "${counts[@]}"; do
  for verb in sparse gtopk; do
    job "${verb}_allreduce_p$count" "$count" "${verb}_allreduce_perf" --form sparse -b "$size" \
      -e "$size" --density 0.01 -n 5 -w 3
  done
done

# Measures the errors of push-sum, then the cost of a slow rank. Ranks sleep, so that any machine
# can run eight of them.
job push_sum "$ranks" push_sum_perf -n 60 --delay 0,2 --density 0,0.1
threads_job push_sum_slow push_sum_perf --transport local -t 8 -n "$slow_steps" --slow --work 20 \
  --delay 0,1,2,4,-1
job push_sum_slow_mpi 8 push_sum_perf -n "$slow_steps" --slow --work 20 --delay 0,2

threads_job topk topk_perf "${topk[@]}" --input random,equal,sorted,hot,two-valued

# Debian's matplotlib works with Debian's Python, which may not be the first one on the path.
for python in python3 /usr/bin/python3; do
  if "$python" -c 'import matplotlib' 2>/dev/null; then break; fi
done
printf '\n== pictures\n'
"$python" "$root/perf/plot.py" all "$out"/*.json --out "$out"
"$python" "$root/perf/plot.py" summary "$out"/*.json --out "$out"

printf '\nTables (.txt), rows (.json) and pictures (.png) are in %s\n' "$out"
