#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
usage="usage: perf/torch/ddp_training.sh [OPTION...] [JOB...]
Measures DDP with gloo's allreduce, fp16, PowerSGD and sparsecoll's hook on 8 emulated nodes: the time to
the loss that dense training reaches. Builds the library, makes the rows of all jobs, a table and a picture.
  --out FOLDER   for results (build/perf/ddp)
  --library FILE libsparsecoll.so with UCX, instead of building it
  --nodes N      (8)
  --steps N      of dense training and of the others (300)
  --list         prints the jobs and exits
Jobs; without a name, all of them (25 minutes on two cores):
  train.RATE.WAY a whole training on a network: dense, powersgd, sparse or sparse-bf16
  curve.WAY      the losses of a whole training without limits of the network
  time.RATE      the time of a step at 100mbit or 1gbit of the ways that are not trained there
  report         the table and the picture, from the rows that are there
Needs root, and Debian's python3-torch, python3-matplotlib, libopenblas0 and git (its release notes are the text)."
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

all=(train.1gbit.{dense,powersgd,sparse,sparse-bf16} time.1gbit curve.fp16
  train.100mbit.{sparse,sparse-bf16} time.100mbit report)
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

# on RATE ARGUMENT...: the command for the emulated network.
on() { echo perf/netlab run --nodes "$nodes" --rate "$1" -- perf/torch/rank.sh "${program[@]}" --network "$1"; }

for job; do
  rate=${job#*.}
  way=${rate#*.}
  rate=${rate%%.*}
  case $job in
    curve.*)
      measure "$job" perf/launch -n "$nodes" --bind-to none "${program[@]}" --way "$rate" --steps "$steps"
      ;;
    time.*)
      # PowerSGD compresses after two steps here, after ten in its whole training.
      ways=(dense fp16 powersgd)
      [ "$rate" != 1gbit ] || ways=(fp16 bf16)
      # shellcheck disable=SC2046  # words without blanks
      measure "$job" $(on "$rate") --way "${ways[@]}" --steps 13 --power-start 2
      ;;
    train.*)
      # shellcheck disable=SC2046
      measure "$job" $(on "$rate") --way "$way" --steps "$steps"
      ;;
    report)
      "$python" perf/torch/ddp_report.py "$out"/*.json | tee "$out/report.txt"
      "$python" perf/plot.py ddp "$out"/*.json --out "$out"
      ;;
    *) echo "ddp_training.sh: there is no job $job; --list prints them" >&2 && exit 2 ;;
  esac
done
