#!/bin/sh
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# run_fault.sh PROGRAM RANKS SCENARIO VERB VICTIM LAUNCHER...
# Runs a fault scenario. A launcher that lost a rank may exit with anything, and may hang, so the
# verdict is what the survivors wrote: one file each, with PASS on its last line. If one of them
# complains about time, the scenario is tried again with a longer deadline: on a busy machine a rank
# may get no CPU for as long as the first one.
set -u

program=$1 ranks=$2 scenario=$3 verb=$4 victim=$5
shift 5

results=$(mktemp -d) || exit 1
trap 'rm -rf "$results"' EXIT

# MPICH's launcher ends all ranks when it sees one die, whatever it is told; and UCX below it ends a
# rank that was copying from the memory of one that died, unless it is told to copy in another way.
shield=
case $* in *-disable-auto-cleanup*)
  shield=$(dirname "$0")/shield.sh
  export UCX_TLS=^cma
  ;;
esac

SPARSECOLL_FLIGHT_RECORDER=$results/flight
export SPARSECOLL_FLIGHT_RECORDER

set -- "$@" "$ranks" ${shield:+"$shield"} "$program" "$scenario" "$verb" "$victim" "$results"
here=$(dirname "$0")
# shellcheck source=tests/mpi/longer_deadline.sh
. "$here/longer_deadline.sh"

# Runs the scenario. Returns 0 if all is well.
attempt() {
  rm -f "$results"/*
  timeout -k 5 60 "$@" >"$results/output" 2>&1
  echo "launcher: exit code $?"
  failed=0
  rank=0
  while [ "$rank" -lt "$ranks" ]; do
    case $scenario in kill-* | exit) dies=$victim ;; *) dies=none ;; esac
    if [ "$rank" != "$dies" ]; then
      echo "rank $rank: $(cat "$results/rank_$rank" 2>&1)"
      tail -n 1 "$results/rank_$rank" 2>/dev/null | grep -qx PASS || failed=1
    fi
    rank=$((rank + 1))
  done
  # The flight records of the survivors must show who was missing.
  case $scenario in
    kill-before | exit)
      blame=$("$here/../../tools/sparsecoll-blame" "$results"/flight.*.json)
      echo "$blame"
      case $blame in *": rank $victim was missing; "*) ;; *) failed=1 ;; esac
      ;;
  esac
  if [ "$failed" -ne 0 ]; then
    cat "$results/output"
  fi
  return "$failed"
}

for deadline in $deadlines; do
  SPARSECOLL_TEST_DEADLINE_MS=$deadline
  export SPARSECOLL_TEST_DEADLINE_MS
  attempt "$@" && exit 0
  complains_about_time "$results"/rank_* || exit 1
done
exit 1
