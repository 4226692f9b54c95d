#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# run_netlab.sh CASE [PROGRAM]
# Tests of perf/netlab, and of the library on it. Exit status 77 where the machine can have no lab.
#   hello       the ranks are where they were asked for, and the status is the program's
#   rate        PROGRAM (link_perf) finds the rate that was asked for; two labs at once
#   racks       PROGRAM (sparse_allreduce_perf) adds by rack, and sends less between racks
#   nodes       PROGRAM (sparse_allreduce_perf) finds out which ranks share a node, and adds by node
#   ends        nothing is left behind by an error, SIGTERM and, after clean, SIGKILL
#   refusals    bad options, and a user who may not
#   cluster     perf/cluster.sh with the programs in the folder PROGRAM: a job, and its summary
#   FAULT-WHEN  cut, stop or kill, before or during a call of PROGRAM (test_mpi_fault): the other ranks'
#               calls fail, with Timeout where nobody else said so first, and soon
#   ucx-FAULT-WHEN  the same over UCX, which notices at once that a process has died
set -euo pipefail

case=$1 program=${2:-}
netlab=$(cd "$(dirname "$0")/../../perf" && pwd)/netlab
# shellcheck source=tests/mpi/longer_deadline.sh
. "$(dirname "$0")/../mpi/longer_deadline.sh"
lab=t$$
folder=$(mktemp -d)
running=''

end() {
  [ -z "$running" ] || kill -TERM "$running" 2>/dev/null || true
  wait
  rm -rf "$folder"
}
trap end EXIT

fail() {
  echo "FAIL: $1"
  exit 1
}

# launch NAME ARGUMENT...: a lab, with a limit of time; the status of a machine that can have none ends
# the test.
launch() {
  local name=$1 status=0
  shift
  timeout -k 20 60 "$netlab" run --name "$name" "$@" || status=$?
  [ $status != 77 ] || exit 77
  return $status
}

# No namespace, folder, memory or process of this lab.
expect_nothing_left() {
  local left
  left=$(ip netns list | grep "^netlab-$1-" || true)
  [ -z "$left" ] || fail "namespaces: $left"
  [ ! -e "/run/netlab/$1" ] || fail "/run/netlab/$1"
  left=$(find /dev/shm -name "vader_segment.$1-*")
  [ -z "$left" ] || fail "shared memory: $left"
  left=$(grep -lsz "orte_tmpdir_base=/run/netlab/$1\$" /proc/[0-9]*/environ || true)
  [ -z "$left" ] || fail "processes: $left"
}

hello() {
  # shellcheck disable=SC2016  # the ranks' shell
  launch "$lab" --nodes 3 --ranks-per-node 2 -- sh -c 'echo "$OMPI_COMM_WORLD_RANK $(hostname)"' |
    sort >"$folder/hello"
  for rank in 0 1 2 3 4 5; do echo "$rank $lab-$((rank / 2))"; done | diff - "$folder/hello"
  expect_nothing_left "$lab"
  launch "$lab" --nodes 2 -- sh -c 'exit 5' >"$folder/error" 2>&1 && fail "the status was lost"
  expect_nothing_left "$lab"
}

rate() {
  launch "${lab}b" --nodes 2 --rate 10mbit -- "$program" --rate 10 --bytes 128K --least 60 &
  launch "$lab" --nodes 3 --ranks-per-node 2 --rate 100mbit -- "$program" --rate 100 --bytes 512K \
    --least 60
  wait $! || fail "the second lab"
  expect_nothing_left "$lab"
  expect_nothing_left "${lab}b"
  launch "$lab" --nodes 2 --rate 20mbit -- "$program" --rate 100 --bytes 128K -n 2 >"$folder/slow" \
    2>&1 && fail "a link of 20 Mbit/s passes for one of 100"
  grep -q '^# Wrong results : 1 FAILED' "$folder/slow" || fail "$(cat "$folder/slow")"
}

nodes() {
  launch "$lab" --nodes 3 --ranks-per-node 2 --rate 100mbit -- env SPARSECOLL_DEBUG=INFO "$program" \
    --form sparse --algo hierarchical,auto-reordered -b 256K -e 256K -n 2 -w 1 >"$folder/nodes" 2>&1 ||
    fail "$(cat "$folder/nodes")"
  [ "$(grep -c 'nodes: 3, with 2 ranks at most' "$folder/nodes")" = 12 ] || fail "$(cat "$folder/nodes")"
  expect_nothing_left "$lab"
}

# uplink_bytes ALGORITHM: the bytes that rack 0 sends for some calls.
uplink_bytes() {
  launch "$lab" --nodes 4 --racks 2 --uplink 20mbit -- "$program" --form sparse --algo "$1" \
    --density 0.01 --overlap 0.5 -b 1M -e 1M -n 3 -w 0 >"$folder/racks" 2>&1 || fail "$(cat "$folder/racks")"
  sed -n 's/^netlab: rack 0 sent \([0-9]*\) bytes .*/\1/p' "$folder/racks"
}

racks() {
  local flat by_rack
  flat=$(uplink_bytes oktopk)
  by_rack=$(uplink_bytes hierarchical)
  # Each rank of a rack sends its own entries to the other rack, or they send their sum.
  [ "$((by_rack * 10))" -lt "$((flat * 9))" ] || fail "$by_rack bytes by rack, $flat without"
  expect_nothing_left "$lab"
}

# Starts ranks that sleep, and waits until all of them do.
start_sleepers() {
  rm -f "$folder"/up.*
  # shellcheck disable=SC2016  # the ranks' shell
  "$netlab" run --name "$lab" --nodes 3 -- \
    sh -c 'touch "$0/up.$OMPI_COMM_WORLD_RANK" && exec sleep 60' "$folder" &
  running=$!
  for _ in $(seq 200); do
    [ ! -e "$folder/up.0" ] || [ ! -e "$folder/up.1" ] || [ ! -e "$folder/up.2" ] || return 0
    kill -0 $running 2>/dev/null || fail "the lab ended"
    sleep 0.1
  done
  fail "the ranks did not start"
}

# end_with SIGNAL STATUS
end_with() {
  local status=0
  kill "-$1" "$running"
  wait "$running" || status=$?
  running=''
  [ $status = "$2" ] || fail "exit status $status after $1"
}

# expect_listed WORDS: what list says of the lab.
expect_listed() {
  "$netlab" list >"$folder/list"
  grep -qx "$lab $1" "$folder/list" || fail "not listed as one that $1: $(cat "$folder/list")"
}

ends() {
  launch "$lab" --nodes 2 -- "$folder/none" >"$folder/error" 2>&1 && fail "nothing was run"
  expect_nothing_left "$lab"
  start_sleepers
  expect_listed runs
  "$netlab" clean
  expect_listed runs
  end_with TERM 143
  expect_nothing_left "$lab"
  start_sleepers
  end_with KILL 137
  expect_listed "was left behind"
  "$netlab" clean
  expect_nothing_left "$lab"
}

# refused STATUS WORDS COMMAND...
refused() {
  local expected=$1 words=$2 status=0
  shift 2
  "$@" >"$folder/error" 2>&1 || status=$?
  [ $status = "$expected" ] || fail "exit status $status: $*"
  grep -q -- "$words" "$folder/error" || fail "$* says $(cat "$folder/error")"
}

refusals() {
  [ "$(id -u)" = 0 ] || exit 77
  refused 2 'usage: netlab' "$netlab"
  refused 2 'usage: netlab' "$netlab" run --nodes 2
  refused 2 '--nodes needs 1 to 250, not 0' "$netlab" run --nodes 0 -- true
  refused 2 'mbit or gbit, not 3parsec' "$netlab" run --rate 3parsec -- true
  refused 2 '--racks needs 1 to 2, not 3' "$netlab" run --nodes 2 --racks 3 -- true
  refused 2 '--uplink needs --racks' "$netlab" run --uplink 1mbit -- true
  refused 2 'there is no option --latency' "$netlab" run --latency 1ms -- true
  refused 77 'needs root' setpriv --reuid 65534 --clear-groups "$netlab" run -- true
  refused 77 'capability CAP_NET_ADMIN' setpriv --bounding-set -net_admin --inh-caps -net_admin \
    "$netlab" run -- true
  refused 77 'needs ip ' env PATH="$folder/bin" "$netlab" run -- true
  refused 77 'cannot make a limited link (tbf): .*kind is unknown' \
    env PATH="$folder/poor:$PATH" "$netlab" run --name "$lab" -- true
  expect_nothing_left "$lab"
  refused 1 'no node 7' "$netlab" cut "$lab" 7
}

# Paths on which everything is but iproute2, and on which tc finds a kernel without tbf.
poor_paths() {
  mkdir "$folder/poor"
  printf '#!/bin/sh\necho "Error: Specified qdisc kind is unknown."\nexit 2\n' >"$folder/poor/tc"
  chmod +x "$folder/poor/tc"
  local tool
  mkdir "$folder/bin"
  for tool in bash dirname env id readlink sed nsenter unshare flock; do
    ln -s "$(command -v $tool)" "$folder/bin/$tool"
  done
}

# wait_for RANK...: their verdicts, or the end of all ranks; expect_verdict says what came of it. The ranks
# themselves fail if they wait for too long.
wait_for() {
  local rank
  for rank in "$@"; do
    while [ ! -e "$folder/done_$rank" ] && kill -0 "$running" 2>/dev/null; do sleep 0.1; done
  done
}

# expect_verdict RANK: it was as it must be, and said so.
expect_verdict() {
  echo "rank $1: $(cat "$folder/rank_$1" 2>&1)"
  grep -qx PASS "$folder/rank_$1" && return
  cat "$folder/output"
  fail "rank $1"
}

# ended_too_soon: the lab has ended, and no rank has asked for the fault.
ended_too_soon() {
  local status=0
  wait "$running" || status=$?
  running=''
  tail -n +1 "$folder"/rank_* "$folder/output" || true
  [ $status != 77 ] || exit 77
  fail "the ranks ended before the fault, exit status $status"
}

# Runs this case and, if a rank complains about time, once more with a longer deadline, and exits.
with_longer_deadline() {
  local deadline status
  for deadline in $deadlines; do
    status=0
    SPARSECOLL_TEST_DEADLINE_MS=$deadline "$0" "$case" "$program" >"$folder/attempt" 2>&1 || status=$?
    cat "$folder/attempt"
    [ $status != 0 ] || exit 0
    complains_about_time "$folder/attempt" || break
  done
  exit $status
}

# fault WHAT WHEN [VARIABLE=VALUE...]
fault() {
  local what=$1 when=$2 error=sparsecollTimeout
  shift 2
  export OMPI_MCA_orte_enable_recovery=1
  launch "$lab" --nodes 3 --rate 100mbit -- \
    env "SPARSECOLL_TEST_DEADLINE_MS=$SPARSECOLL_TEST_DEADLINE_MS" "$@" \
    "$program" "ask-$when" oktopk 1 "$folder" >"$folder/output" 2>&1 &
  running=$!
  until [ -e "$folder/ask" ]; do
    kill -0 "$running" 2>/dev/null || ended_too_soon
    sleep 0.02
  done
  "$netlab" "$what" "$lab" 1
  touch "$folder/asked"
  if [ "$what" = kill ]; then touch "$folder/done_1"; fi # the others do not wait for it
  wait_for 0 2
  expect_verdict 0
  expect_verdict 2
  # The first to see its deadline pass tells the other one.
  if [ "$what" = kill ] && [ $# -gt 0 ]; then error=sparsecollRemoteError; fi
  grep -q $error "$folder/rank_0" "$folder/rank_2" || fail "no $error"
  if [ "$what" = stop ]; then "$netlab" continue "$lab" 1; fi
  if [ "$what" != kill ]; then wait_for 1 && expect_verdict 1; fi
  if [ "$what" = cut ]; then "$netlab" restore "$lab" 1; fi
  wait $running || true  # the launcher's status says how it liked the ranks' end
  running=''
  expect_nothing_left "$lab"
}

cluster() {
  local status=0 train=''
  "$netlab" run --name "$lab" --nodes 1 -- true || status=$?
  [ $status != 77 ] || exit 77
  [ ! -x "$program/../docs/examples/train_digits/train_digits" ] || train=',train_*_oktopk'
  "$(dirname "$netlab")/cluster.sh" --quick --only "alltoall,exchange_bf16$train" --programs "$program" \
    --out "$folder/out"
  grep -q '^| all-to-all, 1.0% | >= 1.4x mpi-alltoallv | [0-9.]* / [0-9.]* |' \
    "$folder/out/summary.md" || fail "no line for the ratio"
  [ -z "$train" ] || grep -q '^| oktopk | [0-9.]* | - | ' "$folder/out/summary.md" ||
    fail "no line for the training"
  grep -q '^| bfloat16, 0.1% | <= 8.0 | ' "$folder/out/summary.md" || fail "no line for the bytes"
}

if [[ $case == *-before || $case == *-during ]] && [ -z "${SPARSECOLL_TEST_DEADLINE_MS:-}" ]; then
  with_longer_deadline
fi
case $case in
  hello | rate | nodes | racks | cluster | ends) "$case" ;;
  refusals) poor_paths && refusals ;;
  cut-* | stop-* | kill-*) fault "${case%-*}" "${case#*-}" ;;
  ucx-*)
    case=${case#ucx-}
    fault "${case%-*}" "${case#*-}" SPARSECOLL_TEST_TRANSPORT=ucx UCX_LOG_LEVEL=fatal
    ;;
  *) fail "no such case: $case" ;;
esac
echo PASS
