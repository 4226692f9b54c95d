#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# Measures how time and volume grow with the number of ranks, beyond the number of machines at hand.
# The library's messages are sent over a simulated network, in virtual time. Writes tables, JSON,
# pictures.
usage="usage: perf/scaling.sh [--most P] [--rate RATE] [--latency TIME] [--out DIR] [--programs DIR]
  --most P        largest number of ranks (1024); measures 4, 8, 16, ...
  --rate RATE     rate of every rank's link (1gbit)
  --latency TIME  latency between ranks (50us)
  --out DIR       folder of tables, JSON and pictures (build/perf/scaling)
  --programs DIR  folder of the built programs; else they are built in build/perf
Examples:
  perf/scaling.sh --most 64
  perf/scaling.sh --rate 10gbit --latency 10us --out fast"
set -euo pipefail

most=1024
rate=1gbit
latency=50us
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/options.sh
. "$root/scripts/options.sh"
build=$root/build/perf
out=$build/scaling
programs=''
while [ $# -gt 0 ]; do
  case $1 in
    --most | --rate | --latency | --out | --programs)
      [ $# -gt 1 ] || { echo "$1 needs a value" >&2 && exit 2; }
      case $1 in
        --most) most=$2 ;;
        --rate) rate=$2 ;;
        --latency) latency=$2 ;;
        --out) out=$2 ;;
        --programs) programs=$(cd "$2" && pwd) ;;
      esac
      shift
      ;;
    -h | --help) echo "$usage" && exit 0 ;;
    *) no_option "$1" "$usage" ;;
  esac
  shift
done
[[ $most =~ ^[1-9][0-9]*$ ]] || { echo "--most needs a number, not $most" >&2 && exit 2; }
mkdir -p "$out"
out=$(cd "$out" && pwd)

if [ -z "$programs" ]; then
  "$root/scripts/install-packages.sh" build-essential cmake ninja-build libopenmpi-dev libhwloc-dev \
    openmpi-bin nlohmann-json3-dev libcli11-dev python3 python3-matplotlib
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSPARSECOLL_BUILD_TESTS=OFF \
    -DSPARSECOLL_BUILD_PERF=ON -DSPARSECOLL_BUILD_EXAMPLES=ON -DSPARSECOLL_CUDA=OFF
  cmake --build "$build" --parallel "$(nproc)"
  programs=$build/perf
fi

# job P PROGRAM ALGORITHMS: measures one call after a first one, on 2^20 values, without a
# selection. All messages are real. The model computes the time, and computing takes none, so that
# every run gives the same time and one call is enough.
job() {
  local ranks=$1 program=$2 algorithms=$3
  local name=$program.$algorithms.$ranks
  printf '\n== %s ranks: %s, %s\n' "$ranks" "$program" "$algorithms"
  "$programs/$program" --transport simulated --ranks "$ranks" --rate "$rate" --latency "$latency" \
    --compute 0 --form sparse -b 4M -e 4M --density 0.01 -n 1 -w 1 -c 0 --algo "$algorithms" \
    -J "$out/$name.json" | tee "$out/$name.txt"
}

for ((ranks = 4; ranks <= most; ranks *= 2)); do
  job "$ranks" sparse_allreduce_perf oktopk
  job "$ranks" gtopk_allreduce_perf gtopk
  # Every rank merges the messages of all others, so this machine's work grows with P squared.
  if [ "$ranks" -le 128 ]; then job "$ranks" sparse_allreduce_perf allgather; fi
done

for python in python3 /usr/bin/python3; do
  "$python" -c 'import matplotlib' 2> /dev/null || continue
  for kind in ranks volume; do "$python" "$root/perf/plot.py" "$kind" "$out"/*.json --out "$out"; done
  exit
done
echo "no python3 with matplotlib: no pictures" >&2
