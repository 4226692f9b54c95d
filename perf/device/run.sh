#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs the package of perf/gpu.sh on a machine with a GPU, which needs no compiler and no network:
# tests, benchmarks, sanitizers, profiles. steps.sh has the steps.
usage="usage: run.sh [--out DIR] [--only NAMES] [--limit SECONDS] [--jobs N] [--quick] [FOLDER]
  FOLDER        the package: the folder of this script, or build/gpu-package, which is built if missing
  --out DIR     folder of logs, rows and reports: new, empty, or of an earlier run; also packed into
                DIR.tar.gz (results beside this script; build/gpu-results in the repository)
  --only NAMES  these steps, comma separated: hello,yardsticks,tests,topk,adversarial,large,merge,
                pack,unpack,verbs,crossing,mpi,timeline,nccl,torch,memcheck,racecheck,initcheck,
                synccheck,ncu; or single steps by the name of their log: topk_float32,gpu_merge...
  --limit S     all steps together take at most S seconds
  --jobs N      tests, and runs of a sanitizer, at the same time (half of the cores, at most 8)
  --quick       small vectors, few calls: a test that all steps work
Exit status: 0 all steps that ran succeeded; 1 one failed, or none ran; 2 a bad option; 3 no GPU.
Examples:
  ./run.sh --quick
  ./run.sh --only topk,gpu_merge --limit 300 --out mine"
set -euo pipefail

here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)

die() {
  echo "run.sh: $1" >&2
  exit "${2:-2}"
}

# shellcheck source=perf/device/runner.sh
. "$here/runner.sh"
# shellcheck source=perf/device/steps.sh
. "$here/steps.sh"
options=$here/options.sh
[ -f "$options" ] || options=$here/../../scripts/options.sh
# shellcheck source=scripts/options.sh
. "$options"

# need_value OPTION ARGUMENT...: checks that an argument follows the option.
need_value() {
  [ $# -gt 1 ] || die "$1 needs a value"
}

# start PROGRAM ARGUMENT...: runs a program of the package for at most 60 s, without a log.
start() {
  local program=$folder/bin/$1
  shift
  timeout -k 5 60 "${starter[@]}" "$program" "$@"
}

# check_only: checks that the names of --only can be names of steps. Names of test files are known
# only on a device.
check_only() {
  local name steps="hello_(smi|query|topk)|adversarial_(float32|bfloat16)|ncu_(select|merge|pack|unpack)(_text)?"
  steps+="|(topk|merge|pack|unpack|torch)_(float32|float64|bfloat16|float16)"
  steps+="|verbs_(sparse_allreduce|gtopk_allreduce|sparse_alltoall|push_sum)_p[24]|verbs_tensors_p2"
  steps+="|mpi_(sparse_allreduce|gtopk_allreduce)(_small)?_p2|mpi_(sparse_alltoall|push_sum)_p2"
  steps+="|crossing_(device|copied)|timeline_(threads|mpi)"
  steps+="|nccl_(sparse_allreduce|gtopk_allreduce|gtopk_small_g[01]|push_sum|tensors|whole)"
  steps+="|(gpu|memcheck|racecheck|initcheck|synccheck)_[a-z0-9_]+"
  for name in "${only[@]}"; do
    [[ $name =~ ^($steps)$ || " ${groups[*]} " == *" $name "* ]] ||
      die "--only: there is no step '$name'; there are: ${groups[*]}"
  done
}

# check_out: checks that results can be written to the folder, without making it.
check_out() {
  local parent=$out
  if [ -d "$out" ]; then
    [ -z "$(ls -A "$out")" ] || [ -f "$out/steps.jsonl" ] ||
      die "--out: $out has files in it that are not a former run's"
  fi
  while [ ! -e "$parent" ]; do parent=$(dirname "$parent"); done
  [ -d "$parent" ] || die "--out: $parent is no folder"
  [ -w "$parent" ] || die "--out: $parent is not writable"
}

# check_package: checks that the package is complete and that its files have not changed.
check_package() {
  local file
  for file in MANIFEST bin/topk_perf bin/verbs_perf bin/test_gpu lib torch_topk.py; do
    [ -e "$folder/$file" ] || die "$folder is not a whole package: there is no $file" 1
  done
  if command -v sha256sum >/dev/null; then
    (cd "$folder" && sha256sum --quiet --check MANIFEST) ||
      die "$folder is not as it was packed: its MANIFEST names other files; copy it again" 1
  fi
}

# choose_loader: chooses the loader and the libraries of the package if those of the machine are too
# old; else only the package's MPI and hwloc.
choose_loader() {
  chmod +x "$folder"/lib/ld-linux* "$folder"/bin/* "$folder"/mpi/bin/* 2>/dev/null || true
  if [ -d "$folder/mpi" ]; then
    libraries=(env "LD_LIBRARY_PATH=$folder/mpi/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}")
  fi
  starter=("${libraries[@]}")
  if start topk_perf --help >/dev/null 2>&1; then return; fi
  libraries=()
  loader=("$(find "$folder/lib" -name 'ld-linux*' | head -n 1)" --library-path "$folder/lib:$folder/mpi/lib")
  starter=("${loader[@]}")
  [ -x "${loader[0]}" ] || die "the programs do not start here, and there is no loader in $folder/lib" 1
  start topk_perf --help >/dev/null || die "the package's programs do not start here" 1
}

# choose_nccl: uses NCCL of the package, of the system, or of a Python wheel, which torch also uses.
choose_nccl() {
  local where="import importlib.util as u; s = u.find_spec('nvidia.nccl'); \
print(list(s.submodule_search_locations)[0] + '/lib' if s else '')"
  nccl=$folder/nccl
  if [ -f "$nccl/libnccl.so.2" ]; then return; fi
  nccl=$(PATH=$PATH:/usr/sbin:/sbin ldconfig -p 2>/dev/null | sed -n 's|.*libnccl\.so\.2 .*=> \(.*\)/.*|\1|p' |
    head -n 1) || true
  if [ -z "$nccl" ]; then nccl=$(python3 -c "$where" 2>/dev/null) || true; fi
  if [ ! -f "$nccl/libnccl.so.2" ]; then nccl=""; fi
}

# probe: checks that there is a GPU for which the package was built.
probe() {
  local status=0 said
  said=$(start topk_perf --memory device -b 4K -e 4K -n 1 -w 0 -c 0 2>&1) || status=$?
  case $status in
    0) ;;
    3) die "${said##*: --memory device: }: nothing was run" 3 ;;
    124 | 137) die "a first call of the GPU did not come back within 60 s: nothing was run" 1 ;;
    *)
      printf '%s\n' "$said" >&2
      die "a first call of the GPU fails: nothing was run. The package was built for $built_for" 1
      ;;
  esac
}

parse() {
  folder=""
  out=""
  at_most=$(($(nproc) / 2))
  at_most=$((at_most < 1 ? 1 : at_most > 8 ? 8 : at_most))
  while [ $# -gt 0 ]; do
    case $1 in
      --out) need_value "$@" && out=$2 && shift ;;
      --only)
        need_value "$@"
        IFS=, read -r -a only <<<"$2"
        [ ${#only[@]} -gt 0 ] || die "--only needs names of steps"
        shift
        ;;
      --limit) need_value "$@" && limit=$2 && shift ;;
      --jobs) need_value "$@" && at_most=$2 && shift ;;
      --quick) quick=1 ;;
      -h | --help) echo "$usage" && exit ;;
      -*) no_option "$1" "$usage" ;;
      *)
        [ -z "$folder" ] || die "one FOLDER, not $folder and $1"
        folder=$1
        ;;
    esac
    shift
  done
  check_only
  [[ $limit =~ ^[1-9][0-9]*$ ]] || die "--limit needs seconds, not $limit"
  [[ $at_most =~ ^[1-9][0-9]*$ ]] || die "--jobs needs a number, not $at_most"
}

# has_driver: returns 0 if there are devices of a GPU's driver (/dev/dxg under WSL).
has_driver() {
  compgen -G '/dev/nvidia[0-9]*' >/dev/null || [ -e /dev/dxg ]
}

# compare_sources: warns if the package was built from other sources than those in the repository.
compare_sources() {
  local now packed
  packed=$(sed -n 's/^# source: //p' "$folder/MANIFEST" 2>/dev/null) || return 0
  now=$(git -C "$here" describe --always --dirty 2>/dev/null) || return 0
  if [ -n "$packed" ] && [ "$packed" != "$now" ]; then
    echo "run.sh: the package is made of $packed, the sources are $now; perf/gpu.sh build makes it anew" >&2
  fi
}

# choose_folders: sets the folders of the package and of the results. In the repository, which has
# gpu.sh beside this folder, they are in build/; else they are beside this script.
choose_folders() {
  local maker=$here/../gpu.sh
  if [ -z "$folder" ] && [ ! -f "$maker" ]; then folder=$here; fi
  if [ -z "$out" ] && [ -f "$maker" ]; then out=$(readlink -f "$here/../..")/build/gpu-results; fi
  out=${out:-$here/results}
  check_out
  if [ -z "$folder" ]; then
    folder=$here/../../build/gpu-package
    if [ ! -d "$folder/bin" ]; then
      has_driver || die "no GPU's driver here, so no package was made: nothing was run" 3
      "$maker" build || die "there is no package in build/gpu-package, and none could be made" 1
    fi
    compare_sources
  fi
  [ -d "$folder/bin" ] || die "no package in $folder; make one with: perf/gpu.sh build" 1
  folder=$(cd "$folder" && pwd)
}

main() {
  parse "$@"
  choose_folders
  check_package
  choose_loader
  choose_nccl
  built_for=$(sed -n 's/^# compute capability: //p' "$folder/MANIFEST")
  echo "package: $(sed -n 's/^# source: //p' "$folder/MANIFEST"), for compute capability $built_for"
  probe
  [ -n "$(test_files)" ] || die "the package's test_gpu lists no tests" 1

  mkdir -p "$out" || die "--out: cannot make $out"
  out=$(cd "$out" && pwd)
  : >"$out/steps.jsonl"
  : >"$out/summary.txt"
  run_steps

  printf '\n== %d ok, %d failed, %d not run, %d s\n' "$passed" "$failed" "$not_run" "$SECONDS"
  cat "$out/summary.txt"
  written+=(steps.jsonl summary.txt)
  tar -czf "$out.tar.gz" -C "$(dirname "$out")" "${written[@]/#/"$(basename "$out")/"}"
  echo "all of it: $out.tar.gz"
  local unmet
  unmet=$(unmet_names)
  [ -z "$unmet" ] || die "--only: there is no step $unmet here" 1
  [ "$failed" = 0 ] || exit 1
  [ "$passed" -gt 0 ] || die "nothing was run" 1
}

main "$@"
