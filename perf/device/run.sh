#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs what perf/gpu.sh packed on a machine with a GPU, which needs no compiler and no network: tests,
# benchmarks, sanitizers, profiles. A step that fails or takes too long does not keep the next ones
# from running.
usage="usage: run.sh [--out DIR] [--only NAMES] [--limit SECONDS] [--quick] [FOLDER]
  FOLDER        the package: this script's own folder, or build/gpu-package
  --out DIR     logs, rows and reports (FOLDER/results); they are also packed into DIR.tar.gz
  --only NAMES  these steps, comma separated: hello,yardsticks,tests,topk,adversarial,large,merge,
                pack,unpack,torch,memcheck,racecheck,synccheck,ncu
  --limit S     no step runs beyond S seconds in all
  --quick       small vectors, few calls: do all steps work?"
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)

die() {
  echo "run.sh: $1" >&2
  exit "${2:-2}"
}

# value OPTION ARGUMENT...: the argument behind an option, which has to be there.
value() {
  [ $# -gt 1 ] || die "$1 needs a value"
  printf '%s' "$2"
}

# json STRING: as a string of JSON.
json() {
  local text=${1//\\/\\\\}
  printf '"%s"' "${text//\"/\\\"}"
}

# start PROGRAM ARGUMENT...: one of the package. With its own loader and libraries where those of
# the machine are too old for it.
start() {
  local program=$folder/bin/$1
  shift
  "${loader[@]}" "$program" "$@"
}

choose_loader() {
  loader=()
  if "$folder/bin/topk_perf" --help >/dev/null 2>&1; then return; fi
  chmod +x "$folder"/lib/ld-linux* "$folder"/bin/* 2>/dev/null || true
  loader=("$(find "$folder/lib" -name 'ld-linux*' | head -n 1)" --library-path "$folder/lib")
  [ -x "${loader[0]}" ] || loader=()
  start topk_perf --help >/dev/null || die "the package's programs do not start here" 1
}

# find_tool NAME: Nsight's tools are often beside the path.
find_tool() {
  local candidate
  for candidate in "$(command -v "$1" || true)" "/usr/local/cuda/bin/$1" \
    /usr/local/cuda/compute-sanitizer/"$1" /opt/nvidia/nsight-compute/*/"$1"; do
    if [ -n "$candidate" ] && [ -x "$candidate" ]; then
      printf '%s' "$candidate"
      return
    fi
  done
  return 1
}

# wanted NAME: is it one of --only?
wanted() {
  [ -z "$only" ] || [[ ",$only," == *",$1,"* ]]
}

# record NAME SECONDS STATUS COMMAND WORDS
record() {
  local command=${4//"$folder/"/}
  printf '{"step": %s, "seconds": %s, "exit": %s, "command": %s}\n' "$(json "$1")" "$2" "$3" \
    "$(json "${command//"$out/"/}")" >>"$out/steps.jsonl"
  printf '%-24s %5s s  %s\n' "$1" "$2" "$5" >>"$out/summary.txt"
}

# step NAME SECONDS COMMAND...: its output is in NAME.log as it comes, its end on stdout.
step() {
  local name=$1 most=$2 begin=$SECONDS status=0 word
  shift 2
  local left=$((limit - SECONDS))
  if [ "$left" -lt 5 ]; then
    record "$name" 0 null "$*" "not run: the time was up"
    return
  fi
  if [ "$most" -gt "$left" ]; then most=$left; fi
  printf '\n== %s: %s\n' "$name" "$*"
  timeout -k 10 "$most" "$@" >"$out/$name.log" 2>&1 </dev/null || status=$?
  tail -n 40 "$out/$name.log"
  case $status in
    0) word=ok ;;
    77) word=$(grep -m 1 -o 'SKIPPED.*' "$out/$name.log" || echo SKIPPED) ;;
    124 | 137) word="FAILED: not done after $most s" ;;
    *) word="FAILED: exit status $status" ;;
  esac
  if [[ $word == FAILED* ]]; then failures=$((failures + 1)); fi
  record "$name" $((SECONDS - begin)) "$status" "$*" "$word"
}

# missing NAME TOOL: a step that cannot be.
missing() {
  record "$1" 0 null "$2" "not run: no $2 here"
}

# measure NAME SECONDS ARGUMENT...: topk_perf on the device, its rows in NAME.json.
measure() {
  local name=$1 most=$2
  shift 2
  step "$name" "$most" "${loader[@]}" "$folder/bin/topk_perf" --memory device "$@" \
    -J "$out/$name.json"
}

hello() {
  if command -v nvidia-smi >/dev/null; then
    step hello_smi 60 nvidia-smi
    step hello_query 60 nvidia-smi --format=csv \
      --query-gpu=name,compute_cap,driver_version,memory.total,clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem
  else
    missing hello_smi nvidia-smi
  fi
  measure hello_topk 120 -b 256K -e 256K -n 3 -w 1 -c 1
}

# The vectors' types, with the bytes of 2^16 and of 2^28 values.
types=(float32:256K:1G float64:512K:2G bfloat16:128K:512M float16:128K:512M)

topk_tables() {
  local type name least most
  for type in "${types[@]}"; do
    IFS=: read -r name least most <<<"$type"
    if [ "$quick" = 1 ]; then most=$least; fi
    measure "topk_$name" 240 -d "$name" -b "$least" -e "$most" -f 4 --density "$densities" "${calls[@]}"
  done
}

# kernel_tables merge|pack|unpack
kernel_tables() {
  local type name least most
  for type in "${types[@]}"; do
    IFS=: read -r name least most <<<"$type"
    if [ "$quick" = 1 ]; then most=$least; fi
    measure "$1_$name" 180 --kernel "$1" -d "$name" -b "$least" -e "$most" -f 64 \
      --density "$densities" -p "$pieces" "${calls[@]}"
  done
}

torch_tables() {
  local type name least most
  if ! command -v python3 >/dev/null; then
    missing torch python3
    return
  fi
  for type in "${types[@]}"; do
    IFS=: read -r name least most <<<"$type"
    if [ "$quick" = 1 ]; then most=$least; fi
    step "torch_$name" 180 python3 "$folder/torch_topk.py" -d "$name" -b "$least" -e "$most" -f 16 \
      --density "$densities" "${calls[@]}" -J "$out/torch_$name.json"
  done
}

# The source files of the tests, which Catch2 knows as tags: select_test, merge_test... The large
# one, which takes minutes of the host, is a step of its own.
test_files() {
  start test_gpu -# --list-tags 2>/dev/null | grep -o '\[#[a-z0-9_]*\]' | tr -d '[]#' |
    grep -v '^large_test$' | LC_ALL=C sort -u || true
}

device_tests() {
  local file
  for file in $(test_files); do
    step "gpu_${file%_test}" 240 "${loader[@]}" "$folder/bin/test_gpu" -# "[#$file]" -d yes
  done
}

# sanitizer memcheck|racecheck|synccheck: small inputs, for it is slow.
sanitizer() {
  local file tool
  if ! tool=$(find_tool compute-sanitizer); then
    missing "$1" compute-sanitizer
    return
  fi
  for file in $(test_files); do
    step "$1_${file%_test}" 240 env SPARSECOLL_TEST_SMALL=1 "$tool" --tool "$1" --error-exitcode 9 \
      --print-limit 20 "${loader[@]}" "$folder/bin/test_gpu" -# "[#$file]"
  done
}

# profile NAME TOOL ARGUMENT...: the first launches of one small measurement under Nsight Compute,
# everything it knows of them. Clocks are left as they are.
profile() {
  local name=$1 tool=$2
  shift 2
  step "ncu_$name" 240 "$tool" --clock-control none --set full --kernel-name-base demangled \
    --kernel-name 'regex:sparsecoll::cuda::' --launch-count 24 --force-overwrite \
    --export "$out/ncu_$name" "${loader[@]}" "$folder/bin/topk_perf" --memory device -n 1 -w 0 -c 0 "$@"
  if [ -f "$out/ncu_$name.ncu-rep" ]; then
    step "ncu_${name}_text" 120 "$tool" --import "$out/ncu_$name.ncu-rep" --page details
  fi
}

profiles() {
  local tool size=256M
  if ! tool=$(find_tool ncu); then
    missing ncu ncu
    return
  fi
  if [ "$quick" = 1 ]; then size=1M; fi
  profile select "$tool" -b "$size" -e "$size" --density 0.001
  profile merge "$tool" --kernel merge -b "$size" -e "$size" --density 0.01 -p 8
}

main() {
  out=""
  only=""
  limit=1000000
  quick=0
  folder=$here
  while [ $# -gt 0 ]; do
    case $1 in
      --out) out=$(value "$@") && shift ;;
      --only) only=$(value "$@") && shift ;;
      --limit) limit=$(value "$@") && shift ;;
      --quick) quick=1 ;;
      -h | --help) echo "$usage" && exit ;;
      -*) die "$usage" ;;
      *) folder=$1 ;;
    esac
    shift
  done
  if [ "$folder" = "$here" ] && [ ! -d "$folder/bin" ]; then folder=$here/../../build/gpu-package; fi
  [ -d "$folder/bin" ] || die "no package in $folder; make one with: perf/gpu.sh build" 1
  local name names=",hello,yardsticks,tests,topk,adversarial,large,merge,pack,unpack,torch,"
  names+="memcheck,racecheck,synccheck,ncu,"
  for name in ${only//,/ }; do
    [[ $names == *",$name,"* ]] || die "--only: there is no step $name"
  done
  [[ $limit =~ ^[1-9][0-9]*$ ]] || die "--limit needs seconds, not $limit"
  folder=$(cd "$folder" && pwd)
  choose_loader
  local status=0
  start topk_perf --memory device -b 4K -e 4K -n 1 -w 0 -c 0 >/dev/null || status=$?
  [ "$status" != 3 ] || die "there is no CUDA device here: nothing was run" 3
  [ -n "$(test_files)" ] || die "the package's test_gpu lists no tests" 1

  out=${out:-$folder/results}
  mkdir -p "$out"
  out=$(cd "$out" && pwd)
  : >"$out/steps.jsonl"
  : >"$out/summary.txt"
  failures=0
  if [ "$quick" = 1 ]; then
    densities=0.01
    pieces=2,8
    calls=(-n 3 -w 1)
  else
    densities=0.0001,0.001,0.01,0.1
    pieces=2,4,8,16,32,64
    calls=(-n 20 -w 3)
  fi
  if wanted hello; then hello; fi
  # Nothing is selected: the passes, and what the fused pass costs by itself.
  if wanted yardsticks; then measure yardsticks 120 -b 1G -e 1G --density 0 -c 0 "${calls[@]}"; fi
  if wanted tests; then device_tests; fi
  if wanted topk; then topk_tables; fi
  if wanted adversarial; then
    for type in float32:256M bfloat16:128M; do
      measure "adversarial_${type%:*}" 120 -d "${type%:*}" -b "${type#*:}" -e "${type#*:}" \
        --input random,equal,sorted,hot,two-valued --density 0.001,0.01 "${calls[@]}"
    done
  fi
  # Up to 2^30 values, with the check that is too slow for all the others.
  if wanted large; then
    measure large 300 -b 1G -e 4G -f 4 --density 0.001 -n 3 -w 1 --check-count 1G
    step gpu_large 500 "${loader[@]}" "$folder/bin/test_gpu" -# "[#large_test]" -d yes
  fi
  if wanted merge; then kernel_tables merge; fi
  if wanted pack; then kernel_tables pack; fi
  if wanted unpack; then kernel_tables unpack; fi
  if wanted torch; then torch_tables; fi
  for tool in memcheck racecheck synccheck; do
    if wanted "$tool"; then sanitizer "$tool"; fi
  done
  if wanted ncu; then profiles; fi

  printf '\n== %d steps, %d failed, %d s\n' "$(wc -l <"$out/summary.txt")" "$failures" "$SECONDS"
  cat "$out/summary.txt"
  tar -czf "$out.tar.gz" -C "$(dirname "$out")" "$(basename "$out")"
  echo "all of it: $out.tar.gz"
  [ "$failures" = 0 ] || exit 1
}

main "$@"
