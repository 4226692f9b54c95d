#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs single steps and records them, for run.sh, which sources this file. After a step that fails or
# takes too long the next ones still run.

# Variables that run.sh sets.
folder=.       # the package
out=.          # folder of logs and rows
only=()        # names of --only; empty: all steps
limit=1000000  # seconds for all steps
at_most=1      # tests, and runs of a sanitizer, at the same time

group=""       # the group that runs now
declare -A matched=()  # names of --only for which there was a step
written=()        # files of this run
started=()        # steps that run at the same time
declare -A commands=()  # their commands
passed=0
failed=0
not_run=0
failure_counts=1  # 0: the failure of a step does not count

# json STRING: prints it as a JSON string.
json() {
  local text=${1//\\/\\\\}
  printf '"%s"' "${text//\"/\\\"}"
}

# find_tool NAME: prints the path of a tool. Nsight's tools are often not on the PATH.
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

# chosen STEP: returns 0 if --only names the step or its group, or is not given.
chosen() {
  local name is=1
  if [ ${#only[@]} = 0 ]; then return 0; fi
  for name in "${only[@]}"; do
    # If a group's tool is missing, one step stands for the group.
    if [ "$name" = "$1" ] || [ "$name" = "$group" ] || [[ $1 == "$group" && $name == "$group"_* ]]; then
      matched[$name]=1
      is=0
    fi
  done
  return $is
}

# unmet_names: prints the names of --only for which there was no step.
unmet_names() {
  local name
  for name in "${only[@]}"; do
    if [ -z "${matched[$name]:-}" ]; then printf '%s ' "$name"; fi
  done
}

# record STEP SECONDS STATUS COMMAND VERDICT: writes the result of a step to steps.jsonl and
# summary.txt.
record() {
  local command=${4//"$folder/"/}
  printf '{"step": %s, "seconds": %s, "exit": %s, "command": %s}\n' "$(json "$1")" "$2" "$3" \
    "$(json "${command//"$out/"/}")" >>"$out/steps.jsonl"
  printf '%-24s %5s s  %s\n' "$1" "$2" "$5" >>"$out/summary.txt"
  case $5 in
    ok) passed=$((passed + 1)) ;;
    FAILED*) failed=$((failed + 1)) ;;
    *) not_run=$((not_run + 1)) ;;
  esac
}

# prepare NAME SECONDS COMMAND...: removes the files of an earlier run, and sets `most` to the seconds
# that the step may take. Returns 1, and records the step, if no time is left.
prepare() {
  rm -f "$out/$1.log" "$out/$1.status" "$out/$1.json" "$out/$1.ncu-rep" "$out/$1".*.json
  local left=$((limit - SECONDS))
  if [ "$left" -lt 5 ]; then
    record "$1" 0 null "${*:3}" "not run: the time was up"
    return 1
  fi
  most=$(($2 < left ? $2 : left))
}

# execute NAME COMMAND...: runs the command for at most `most` seconds, with its output in NAME.log.
execute() {
  local status=0 begin=$SECONDS
  timeout -k 10 "$most" "${@:2}" >"$out/$1.log" 2>&1 </dev/null || status=$?
  echo "$status $((SECONDS - begin)) $most" >"$out/$1.status.new"
  mv "$out/$1.status.new" "$out/$1.status"
}

# conclude NAME COMMAND...: prints the end of the output of a step that was executed, and records its
# result.
conclude() {
  local name=$1 status seconds most word file
  read -r status seconds most <"$out/$name.status"
  rm "$out/$name.status"
  printf '\n== %s: %s\n' "$name" "${*:2}"
  tail -n 40 "$out/$name.log"
  case $status in
    0) word=ok ;;
    77) word="not run: $(grep -m 1 -i -o 'SKIPPED.*' "$out/$name.log" || echo SKIPPED)" ;;
    124 | 137) word="FAILED: not done after $most s" ;;
    *) word="FAILED: exit status $status" ;;
  esac
  if [ "$failure_counts" = 0 ]; then word=${word/#FAILED/failed, which decides nothing}; fi
  for file in "$out/$name".{log,json,ncu-rep} "$out/$name".*.json; do
    if [ -f "$file" ]; then written+=("${file##*/}"); fi
  done
  record "$name" "$seconds" "$status" "${*:2}" "$word"
}

# step NAME SECONDS COMMAND...: runs a command for at most that time. NAME.log gets its output,
# stdout the end of it.
step() {
  local most
  chosen "$1" || return 0
  prepare "$@" || return 0
  execute "$1" "${@:3}"
  conclude "$1" "${@:3}"
}

# at_once NAME SECONDS COMMAND...: starts a step that may share the GPU with others, as soon as fewer
# than `at_most` of them run. end_at_once waits for all of them.
at_once() {
  local most
  chosen "$1" || return 0
  while [ "$(jobs -rp | wc -l)" -ge "$at_most" ]; do wait -n || true; done
  conclude_ended
  prepare "$@" || return 0
  execute "$1" "${@:3}" &
  started+=("$1")
  commands[$1]="${*:3}"
}

# conclude_ended: concludes the started steps that have ended.
conclude_ended() {
  local name still=()
  for name in "${started[@]}"; do
    if [ -f "$out/$name.status" ]; then conclude "$name" "${commands[$name]}"; else still+=("$name"); fi
  done
  started=("${still[@]}")
}

# end_at_once: waits for all started steps, and concludes them.
end_at_once() {
  local name
  wait
  conclude_ended
  for name in "${started[@]}"; do record "$name" 0 null "${commands[$name]}" "FAILED: it left no status"; done
  started=()
}

# missing STEP TOOL: records that a step cannot run.
missing() {
  if chosen "$1"; then record "$1" 0 null "$2" "not run: no $2 here"; fi
}
