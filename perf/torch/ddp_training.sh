#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
usage="usage: perf/torch/ddp_training.sh [OPTION...] [JOB...]
Measures DDP with gloo's allreduce, fp16, PowerSGD and sparsecoll's hook on 8 emulated nodes: the time to
the loss that dense training reaches. Builds the library, makes the rows of all jobs, a table and a picture.
  --out FOLDER   for results (build/perf/ddp)
  --library FILE libsparsecoll.so with UCX, instead of building it
  --nodes N      (8)
  --steps N      of dense training; the others may take three times as many to its loss (300)
  --list         prints the jobs and exits
Jobs; without a name, all of them (25 minutes on two cores):
  curve.WAY      the losses of a whole training with dense, powersgd or fp16, without limits of the network
  time.RATE      the time of a few of their steps at 100mbit or 1gbit
  train.RATE.WAY a whole training on this network with sparse or sparse-bf16
  report         the table and the picture, from the rows that are there
Needs root, and Debian's python3-torch, python3-matplotlib, libopenblas0 and git (its release notes are the text).
Examples:
  perf/torch/ddp_training.sh
  perf/torch/ddp_training.sh --out mine train.1gbit.sparse report"
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=scripts/options.sh
. scripts/options.sh

out=build/perf/ddp library='' nodes=8 steps=300 list=''
while [[ ${1:-} == -* ]]; do
  case $1 in
    -h | --help) echo "$usage" && exit 0 ;;
    --list) list=1 && shift && continue ;;
    --out | --library | --nodes | --steps) [ $# -gt 1 ] || { echo "$1 needs a value" >&2 && exit 2; } ;;
    *) no_option "$1" "$usage" ;;
  esac
  case $1 in
    --out) out=$2 ;;
    --library) library=$2 ;;
    --nodes) nodes=$2 ;;
    --steps) steps=$2 ;;
  esac
  shift 2
done

all=(curve.dense curve.powersgd curve.fp16 time.1gbit time.100mbit)
for rate in 1gbit 100mbit; do all+=("train.$rate.sparse" "train.$rate.sparse-bf16"); done
all+=(report)
[ -z "$list" ] || { printf '%s\n' "${all[@]}" && exit 0; }
[ $# -gt 0 ] || set -- "${all[@]}"

if [ -z "$library" ]; then
  cmake --preset release -B build/perf -DSPARSECOLL_CUDA=OFF -DSPARSECOLL_MPI=OFF >/dev/null
  cmake --build build/perf --target sparsecoll
  library=build/perf/src/libsparsecoll.so
fi
SPARSECOLL_LIBRARY=$(realpath "$library")
export SPARSECOLL_LIBRARY PYTHONPATH=$PWD/src/python OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
export UCX_LOG_LEVEL=${UCX_LOG_LEVEL:-fatal}
python=${SPARSECOLL_PYTHON:-/usr/bin/python3}
program=("$python" perf/torch/ddp_training.py)
mkdir -p "$out"

# measure JOB COMMAND...: runs a job; its rows and its table have its name.
measure() {
  local job=$1
  shift
  echo "== $job"
  echo "$*" >"$out/$job.txt"
  # A way that fails has a row with its error.
  "$@" -J "$out/$job.json" 2>"$out/$job.err" | tee -a "$out/$job.txt" || [ -s "$out/$job.json" ]
}

# goal: prints the options for trainings that end at the loss that dense training has at its end.
goal() {
  [ ! -s "$out/curve.dense.json" ] || echo --steps $((3 * steps)) --goal "$("$python" -c \
    'import json, sys; print(json.loads(open(sys.argv[1]).readline())["losses"][-1][1])' "$out/curve.dense.json")"
}

# on RATE ARGUMENT...: the command for the emulated network.
on() { echo perf/netlab run --nodes "$nodes" --rate "$1" -- perf/torch/rank.sh "${program[@]}" --network "$1"; }

for job; do
  rate=${job#*.}
  way=${rate#*.}
  rate=${rate%%.*}
  case $job in
    curve.*)
      more=''
      [ "$rate" = dense ] || more=$(goal)
      # shellcheck disable=SC2086  # words without blanks
      measure "$job" perf/launch -n "$nodes" --bind-to none "${program[@]}" --way "$rate" --steps "$steps" $more
      ;;
    time.*)
      # PowerSGD compresses after two steps here, after ten in its whole training.
      # shellcheck disable=SC2046
      measure "$job" $(on "$rate") --way dense fp16 bf16 powersgd --steps 13 --power-start 2
      ;;
    train.*)
      # shellcheck disable=SC2046
      measure "$job" $(on "$rate") --way "$way" --steps "$steps" $(goal)
      ;;
    report)
      "$python" perf/torch/ddp_report.py "$out"/*.json | tee "$out/report.txt"
      "$python" perf/plot.py ddp "$out"/*.json --out "$out"
      ;;
    *) echo "ddp_training.sh: there is no job $job; --list prints them" >&2 && exit 2 ;;
  esac
done
