#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# Measures the library on slow networks, which perf/netlab emulates on this machine. A job runs one
# program there, which measures the library and MPI's collectives in the same run. Needs root.
usage="usage: perf/cluster.sh [--quick] [--only JOB,...] [--list] [--out DIR] [--programs DIR]
  --quick         takes three minutes: vectors of 1/16 of the size, few calls, not the slowest jobs
  --only JOB,...  runs only these jobs; a pattern such as 'train_*' stands for all that match. The
                  jobs auto_*, whose rows perf/tune reads, run only if they are named
  --list          lists the jobs
  --out DIR       folder of tables (.txt), rows (.json), pictures and summary.md (build/perf/cluster);
                  results of other jobs in it are kept and are part of the summary, but quick and
                  full results are never mixed
  --programs DIR  folder of the built programs; else they are built in build/perf
Exit status: 1 if a job failed, 77 if the machine does not support emulated networks.
Examples:
  perf/cluster.sh --quick
  perf/cluster.sh --only exchange,'train_*' --out mine"
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/options.sh
. "$root/scripts/options.sh"
out=$root/build/perf/cluster
programs=''
quick=0
only=''
list=""

bad_usage() {
  echo "$1" >&2
  exit 2
}

while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=1 ;;
    --list) list=1 ;;
    --only | --out | --programs)
      [ $# -gt 1 ] || bad_usage "$1 needs a value"
      case $1 in
        --only) only=$2 ;;
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

# A job is a line: NAME NODES RANKS-PER-NODE RATE PROGRAM ARGUMENT... With 0 nodes it runs on this
# machine without a network. A rate of 1gbit,2,100mbit stands for 2 racks with uplinks of 100mbit.
jobs=()
job() { jobs+=("$1"); }
# Adds a job that --quick leaves out.
long_job() { [ $quick = 1 ] || job "$1"; }

if [ $quick = 1 ]; then
  large=4M small=1M few="-n 5 -w 10" many="-n 7 -w 10" steps=40
else
  large=64M small=16M few="-n 5 -w 10" many="-n 15 -w 10" steps=150
fi
# All ranks select different indices: the hardest case for algorithms that add on the way.
apart="--density 0.001,0.01 --overlap 0"
floats="-b $large -e $large"
sparse=sparse_allreduce_perf
gtopk=gtopk_allreduce_perf
ours=auto,oktopk,allgather

job "links_1gbit 8 1 1gbit link_perf --rate 1000 --least 0 -n 9"
job "exchange 8 1 1gbit $sparse --form sparse $floats $apart \
  --algo $ours,oktopk-reuse,mpi-allgather $many"
for wire in bf16 int8; do
  job "exchange_$wire 8 1 1gbit $sparse --form sparse $floats $apart --wire $wire --algo oktopk $many"
done
job "sum_apart 8 1 1gbit $sparse --form sum $floats $apart --algo $ours,mpi-allgather $many"
job "sum_common 8 1 1gbit $sparse --form sum $floats --density 0.001,0.01 --overlap 0.9 \
  --algo $ours,mpi-allgather $many"
job "end_to_end 8 1 1gbit $sparse --form dense --feedback 1 $floats $apart \
  --algo auto,oktopk-reuse,mpi-allgather,mpi-dense $few"
job "shared_nodes 4 2 1gbit $sparse --form sparse $floats $apart --algo $ours,hierarchical,mpi-allgather $many"
job "racks 8 1 1gbit,2,100mbit $sparse --form sparse $floats --density 0.01 --overlap 0.5 \
  --algo oktopk,hierarchical $many"
# The gradients of a network: tensor by tensor, and in groups.
for rate in 1gbit 100mbit; do
  long_job "tensors_$rate 8 1 $rate $sparse --tensors perf/tensors/resnet50.txt --algo oktopk \
    --density 0.001 --feedback 1 -c 0 -n 10 -w 2"
done
long_job "shared_nodes_dense 4 2 1gbit $sparse --form dense --feedback 1 $floats --density 0.01 \
  --overlap 0 --algo auto,mpi-allgather,mpi-dense $few"
# Sharded has another definition: it sums gradients by node before the selection.
job "sharded_nodes 4 2 1gbit $sparse --form dense --feedback 1 $floats --density 0.01 --overlap 0 \
  --algo oktopk,sharded,hierarchical,mpi-dense $few"
job "links_100mbit 32 1 100mbit link_perf --rate 100 --least 0 --bytes 256K -n 5 -w 1"
job "gtopk 32 1 100mbit $gtopk --form sparse -b $small -e $small --density 0.001 --overlap 0 \
  --algo gtopk,allgather,oktopk,mpi-allgather $many"
long_job "dense_32 32 1 100mbit $sparse -b $small -e $small --density 0.001 --algo mpi-dense $few"
job "dense_limit 8 1 1gbit $sparse -b 4M -e 4M --density 1 --algo auto,oktopk,dense,mpi-dense $many"
job "alltoall 8 1 1gbit sparse_alltoall_perf $floats $apart $many"
job "alltoall_memory 0 2 - sparse_alltoall_perf $floats $apart $many"
job "push_sum 8 1 1gbit push_sum_perf --slow --work 20 -n $steps --delay 0,1,2,4"
for count in 2 4 8 16 32; do
  long_job "ranks_$count $count 1 100mbit $gtopk --form sparse -b 4M -e 4M --density 0.01 --overlap 0 \
    --algo gtopk,oktopk,allgather,mpi-allgather $few"
done
# Links so slow that the links and not the cores limit even 32 nodes.
for count in 4 8 16 32; do
  long_job "ranks_10mbit_$count $count 1 10mbit $gtopk --form sparse -b 4M -e 4M --density 0.01 \
    --overlap 0 --algo gtopk,oktopk,allgather $few"
done
# train RATE SECONDS HIDDEN MODE...: jobs that train the example with 5.4 million parameters.
train() {
  local rate=$1 most=$2 hidden=$3 mode own seconds every
  shift 3
  for mode in "$@"; do
    seconds=$most every=15
    # With long steps, evaluate after fewer of them. In the gossip modes an evaluation sends the
    # model.
    case $rate-$mode in
      1gbit-dense) every=4 ;;
      1gbit-sgp) every=8 ;;
      100mbit-dense) seconds=45 every=3 ;;
      100mbit-sgp) seconds=45 every=8 ;;
      100mbit-osgp) seconds=45 every=15 ;;
      100mbit-gossip) every=25 ;;
    esac
    # The warm-up of dgc is longer than the run, and has other densities than the other modes.
    own=$([ "$mode" != dgc ] || echo --warm-up 0)
    job "train_${rate}_$mode 8 1 $rate ../docs/examples/train_digits/train_digits --mode $mode $own \
      --hidden $hidden --batch 4 --lr 0.005 --epochs 1000 --seconds $seconds --every $every \
      --network $rate"
  done
}
modes="dense topk oktopk oktopk-reuse gtopk topka2a groups dgc sgp osgp gossip"
if [ $quick = 1 ]; then
  train 1gbit 2 512,160 dense oktopk sgp
else
  # shellcheck disable=SC2086  # words
  train 1gbit 20 2048,2560 $modes
  # shellcheck disable=SC2086
  train 100mbit 30 2048,2560 $modes
  # Measures the reduction of one step of the dense mode, by the library and by MPI.
  gradient="-b 21616680 -e 21616680 --density 1 --algo dense,mpi-dense"
  job "train_1gbit_reduce 8 1 1gbit $sparse $gradient $few"
  job "train_100mbit_reduce 8 1 100mbit $sparse $gradient -n 3 -w 1"
fi

# Auto beside the two algorithms of the exact result that it tries. Its trials take up to ten calls.
if [ -n "$only$list" ]; then
  exact="$sparse --algo auto,allgather,oktopk --density 0.0001,0.001,0.01,0.1,0.5 -c 0 -n 15 -w 13 --rounds 5"
  for count in 2 4 8 16; do
    for form in sparse dense; do
      shapes="--form $form --feedback $([ $form = sparse ] && echo 0 || echo 1) -b 64K -f 16"
      job "auto_memory_${form}_$count 0 $count - $exact $shapes -e 16M"
      job "auto_1gbit_${form}_$count $count 1 1gbit $exact $shapes -e 16M"
      job "auto_100mbit_${form}_$count $count 1 100mbit $exact $shapes -e 1M"
    done
  done
fi

if [ -n "$list" ]; then
  for line in "${jobs[@]}"; do tr -s ' ' <<<"$line"; done
  exit 0
fi
if [ -n "$only" ]; then
  chosen=()
  IFS=, read -ra names <<<"$only"
  for name in "${names[@]}"; do
    before=${#chosen[@]}
    # shellcheck disable=SC2053  # a pattern
    for line in "${jobs[@]}"; do [[ ${line%% *} != $name ]] || chosen+=("$line"); done
    [ ${#chosen[@]} -gt "$before" ] || bad_usage "no job $name; --list says which there are"
  done
  jobs=("${chosen[@]}")
fi

[ "$(id -u)" = 0 ] || { echo 'perf/cluster.sh: needs root, for emulated networks' >&2 && exit 77; }
mkdir -p "$out"
out=$(cd "$out" && pwd)
if [ -z "$programs" ]; then
  "$root/scripts/install-packages.sh" build-essential cmake ninja-build libopenmpi-dev openmpi-bin libhwloc-dev \
    nlohmann-json3-dev libcli11-dev iproute2 python3 python3-matplotlib
  cmake -S "$root" -B "$root/build/perf" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DSPARSECOLL_BUILD_TESTS=OFF -DSPARSECOLL_BUILD_PERF=ON -DSPARSECOLL_BUILD_EXAMPLES=ON \
    -DSPARSECOLL_CUDA=OFF
  cmake --build "$root/build/perf" --parallel "$(nproc)" --target sparse_allreduce_perf \
    gtopk_allreduce_perf sparse_alltoall_perf push_sum_perf link_perf train_digits
  programs=$root/build/perf/perf
fi
cd "$root"  # jobs name files relative to it
"$root/perf/netlab" run --nodes 1 -- true || exit $?
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# describe KEY VALUE...: appends a line about the run or a job to jobs.jsonl.
describe() {
  python3 -c '
import json, sys
numbers = {"cores", "nodes", "ranks_per_node", "racks", "quick", "seconds", "status"}
words = iter(sys.argv[1:])
print(json.dumps({key: int(value) if key in numbers else value for key, value in zip(words, words)}))
' "$@" >>"$out/jobs.jsonl"
}

# forget NAME...: removes earlier results of these jobs, and all results that are quick if this run
# is not, or not quick if this run is.
forget() {
  [ -e "$out/jobs.jsonl" ] || return 0
  python3 - "$out" "$quick" "$@" <<'END'
import json, pathlib, sys
out, quick, names = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
kept, run = [], {}
for line in (out / "jobs.jsonl").read_text().splitlines():
    try:
        job = json.loads(line)
    except ValueError:
        continue  # a run was stopped in the middle of this line
    if "job" not in job:
        run = {key: job[key] for key in ("commit", "date", "tcp")}
    elif job["quick"] == quick and job["job"] not in names:
        kept.append(json.dumps({**run, **job}) + "\n")
    else:
        for kind in ("json", "txt"):
            (out / f"{job['job']}.{kind}").unlink(missing_ok=True)
(out / "jobs.kept").write_text("".join(kept))
END
}

# run_job NAME NODES RANKS-PER-NODE RATE PROGRAM ARGUMENT...
run_job() {
  local name=$1 nodes=$2 per_node=$3 program=$5 status=0 start=$SECONDS launch rate racks uplink lab=()
  IFS=, read -r rate racks uplink <<<"$4"
  [ -z "$racks" ] || lab=(racks "$racks" uplink "$uplink")
  shift 5
  launch=("$root/perf/netlab" run --nodes "$nodes" --ranks-per-node "$per_node" --rate "$rate"
    ${racks:+--racks "$racks" --uplink "$uplink"} --)
  [ "$nodes" != 0 ] || launch=(mpirun -n "$per_node" --oversubscribe --bind-to none)
  echo "${launch[*]##*/} $program $*" >"$out/$name.txt"
  # The timeout ends a job that hangs; netlab cleans up after it.
  timeout -k 30 400 "${launch[@]}" "$programs/$program" "$@" -J "$out/$name.json" \
    >>"$out/$name.txt" 2>"$out/$name.err" || status=$?
  [ $status = 0 ] || { tail -n 5 "$out/$name.err" >&2 && failed+=("$name"); }
  rm -f "$out/$name.err"
  describe job "$name" commit "$commit" date "$date" tcp "$tcp" nodes "$nodes" \
    ranks_per_node "$per_node" rate "$rate" "${lab[@]}" quick $quick \
    command "$program $*" seconds $((SECONDS - start)) status $status
}

failed=()
date=$(date -u +%Y-%m-%dT%H:%M:%SZ)
tcp=$(cat /proc/sys/net/ipv4/tcp_congestion_control)
commit=$(git -C "$root" describe --always --dirty 2>/dev/null || echo unknown)
rm -f "$out/jobs.kept"
forget "${jobs[@]%% *}"
rm -f "$out/jobs.jsonl"
describe date "$date" kernel "$(uname -r)" cores "$(nproc)" \
  cpu "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)" \
  load "$(cut -d ' ' -f 1-3 /proc/loadavg)" mpi "$(mpirun --version | head -n 1)" \
  tcp "$tcp" \
  commit "$commit"
if [ -e "$out/jobs.kept" ]; then
  cat "$out/jobs.kept" >>"$out/jobs.jsonl"
  rm "$out/jobs.kept"
fi
number=0
for line in "${jobs[@]}"; do
  number=$((number + 1))
  echo "[$number/${#jobs[@]}, ${SECONDS} s] $(tr -s ' ' <<<"$line")" >&2
  # shellcheck disable=SC2086  # a job is words
  run_job $line
done

python3 -B "$root/perf/cluster_report.py" "$out" | tee "$out/summary.md"
for python in python3 /usr/bin/python3; do
  if "$python" -c 'import matplotlib' 2>/dev/null; then
    "$python" "$root/perf/plot.py" all "$out"/*.json --out "$out" || true
    break
  fi
done
printf '\n%s s; tables, rows, pictures and summary.md are in %s\n' "$SECONDS" "$out"
[ ${#failed[@]} = 0 ] || { echo "failed: ${failed[*]}" >&2 && exit 1; }
