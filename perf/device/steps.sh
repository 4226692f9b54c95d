#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# The steps of run.sh, which sources this file and runner.sh: a function for each group name of --only.
# shellcheck disable=SC2034,SC2154  # variables of those two

# Variables that run.sh sets.
loader=()      # the package's loader, if the machine's libraries are too old
libraries=()   # else a command with which programs find the package's libraries
starter=()     # whichever of these two is set, with which a program of the package starts
nccl=""        # folder of libnccl.so.2; empty: none
quick=0
densities=0.0001,0.001,0.01,0.1
pieces=2,4,8,16,32,64
groups_of_tensors=()  # set by run_steps
calls=(-n 20 -w 3)

groups=(hello yardsticks tests topk adversarial large merge pack unpack verbs crossing mpi timeline nccl torch memcheck
  racecheck initcheck synccheck ncu)

# measure STEP SECONDS ARGUMENT...: runs topk_perf on the device, with its rows in STEP.json.
measure() {
  local name=$1 most=$2
  shift 2
  step "$name" "$most" "${starter[@]}" "$folder/bin/topk_perf" --memory device "$@" \
    -J "$out/$name.json"
}

step_hello() {
  if command -v nvidia-smi >/dev/null; then
    step hello_smi 60 nvidia-smi
    step hello_query 60 nvidia-smi --format=csv \
      --query-gpu=name,compute_cap,driver_version,memory.total,clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem
  else
    missing hello_smi nvidia-smi
    missing hello_query nvidia-smi
  fi
  measure hello_topk 120 -b 256K -e 256K -n 3 -w 1 -c 1
}

# Measures the passes over memory. Nothing is selected, so that it also measures the fused pass
# alone.
step_yardsticks() {
  measure yardsticks 120 -b 1G -e 1G --density 0 -c 0 "${calls[@]}"
}

# test_files: prints the source files of the tests, which are tags of Catch2: select_test,
# merge_test...
test_files() {
  timeout -k 5 60 "${starter[@]}" "$folder/bin/test_gpu" -# --list-tags 2>/dev/null |
    grep -o '\[#[a-z0-9_]*\]' | tr -d '[]#' | LC_ALL=C sort -u || true
}

# plain_test_files: prints the source files of the tests without a step of their own. large_test,
# which takes minutes on the host, and the tests over NCCL have their own steps.
plain_test_files() {
  test_files | grep -vE '^(large|nccl|nccl_two_ranks)_test$' || true
}

step_tests() {
  local file
  for file in $(plain_test_files); do
    at_once "gpu_${file%_test}" 240 "${starter[@]}" "$folder/bin/test_gpu" -# "[#$file]" -d yes
  done
  end_at_once
}

# The types of vectors, with the bytes of 2^16 and of 2^28 values.
types=(float32:256K:1G float64:512K:2G bfloat16:128K:512M float16:128K:512M)

step_topk() {
  local type name least most
  for type in "${types[@]}"; do
    IFS=: read -r name least most <<<"$type"
    if [ "$quick" = 1 ]; then most=$least; fi
    measure "topk_$name" 240 -d "$name" -b "$least" -e "$most" -f 4 --density "$densities" "${calls[@]}"
  done
}

step_adversarial() {
  local type
  for type in float32:256M bfloat16:128M; do
    measure "adversarial_${type%:*}" 120 -d "${type%:*}" -b "${type#*:}" -e "${type#*:}" \
      --input random,equal,sorted,hot,two-valued --density 0.001,0.01 "${calls[@]}"
  done
}

# Measures up to 2^30 values with the check of results, which is too slow for the other steps.
step_large() {
  measure large 300 -b 1G -e 4G -f 4 --density 0.001 -n 3 -w 1 --check-count 1G
  step gpu_large 500 "${starter[@]}" "$folder/bin/test_gpu" -# "[#large_test]" -d yes
}

# kernel_tables merge|pack|unpack: measures the kernel for all types.
kernel_tables() {
  local type name least most
  for type in "${types[@]}"; do
    IFS=: read -r name least most <<<"$type"
    if [ "$quick" = 1 ]; then most=$least; fi
    measure "$1_$name" 180 --kernel "$1" -d "$name" -b "$least" -e "$most" -f 64 \
      --density "$densities" -p "$pieces" "${calls[@]}"
  done
}

step_merge() { kernel_tables merge; }
step_pack() { kernel_tables pack; }
step_unpack() { kernel_tables unpack; }

# verb NAME RANKS OPTION...: runs NAME_perf on threads that share the GPU, with its rows in the
# step's JSON.
verb() {
  local name=verbs_$1_p$2
  step "$name" 240 "${starter[@]}" "$folder/bin/verbs_perf" "$1_perf" --memory device \
    --transport local -t "$2" -J "$out/$name.json" "${@:3}"
}

step_verbs() {
  local ranks sizes=(-b 1M -e 64M -f 8)
  if [ "$quick" = 1 ]; then sizes=(-b 64K -e 64K); fi
  for ranks in 2 4; do
    verb sparse_allreduce "$ranks" "${sizes[@]}" --density 0.001,0.01 --feedback 1 "${calls[@]}"
    verb gtopk_allreduce "$ranks" "${sizes[@]}" --density 0.001,0.01 --feedback 1 "${calls[@]}"
    verb sparse_alltoall "$ranks" "${sizes[@]}" --density 0.001,0.01 "${calls[@]}"
    verb push_sum "$ranks" "${sizes[@]}" --delay 0,2 --density 0,0.01 -n 10
  done
  local name=verbs_tensors_p2
  step $name 240 "${starter[@]}" "$folder/bin/verbs_perf" sparse_allreduce_perf \
    --memory device --transport local -t 2 -J "$out/$name.json" "${groups_of_tensors[@]}"
}

# Two ranks that share the GPU, with their vectors there: the library's kernels, and the host's after
# copies. The rows say from which length on the kernels are faster.
step_crossing() {
  local memory sizes=(-b 16K -e 256M -f 4)
  if [ "$quick" = 1 ]; then sizes=(-b 64K -e 64K); fi
  for memory in device copied; do
    step "crossing_$memory" 240 "${starter[@]}" "$folder/bin/verbs_perf" sparse_allreduce_perf \
      --memory "$memory" --transport local -t 2 -J "$out/crossing_$memory.json" "${sizes[@]}" \
      --algo oktopk --density 0.001,0.01 --feedback 1 -c 0 "${calls[@]}"
  done
}

# Records the copies and messages of a few calls of ranks that share the GPU, for timeline.py.
step_timeline() {
  local size=256M
  if [ "$quick" = 1 ]; then size=1M; fi
  step timeline_threads 120 env SPARSECOLL_TIMELINE="$out/timeline_threads.%r.json" \
    "${starter[@]}" "$folder/bin/verbs_perf" sparse_allreduce_perf --memory device --transport local -t 2 \
    --form sparse --algo oktopk -b "$size" -e "$size" --density 0.01 --overlap 0 -n 5 -w 3 -c 0
  if [ ! -d "$folder/mpi" ]; then return; fi
  local start
  mapfile -d '' start < <(over_mpi 2)
  step timeline_mpi 120 env SPARSECOLL_TIMELINE="$out/timeline_mpi.%r.json" "${start[@]}" \
    "$folder/bin/verbs_perf" sparse_allreduce_perf --memory device --transport mpi \
    --form sparse --algo oktopk -b "$size" -e "$size" --density 0.01 --overlap 0 -n 5 -w 3 -c 0
}

# over_mpi RANKS: prints the command that starts a program on that number of ranks by the package's
# MPI.
over_mpi() {
  printf '%s\0' env "OPAL_PREFIX=$folder/mpi" OMPI_ALLOW_RUN_AS_ROOT=1 \
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PMIX_MCA_pcompress_base_silence_warning=1 \
    "${starter[@]}" "$folder/mpi/bin/mpirun" --oversubscribe --bind-to none --mca plm isolated --mca pml ob1 \
    --mca btl self,vader -n "$1" "${loader[@]}"
}

# mpi_verb NAME RANKS OPTION...: runs NAME_perf on ranks over MPI that share the GPU, with its rows
# in the step's JSON.
mpi_verb() {
  local name=mpi_$1_p$2 start
  mapfile -d '' start < <(over_mpi "$2")
  step "$name" 240 "${start[@]}" "$folder/bin/verbs_perf" "${1%_small}_perf" --memory device \
    --transport mpi -J "$out/$name.json" "${@:3}"
}

# Ranks are processes that share the GPU. If MPI can send from device memory, that is tested, too.
step_mpi() {
  local ranks start program sizes=(-b 1M -e 64M -f 8) many=(-n 500 -w 20)
  if [ ! -d "$folder/mpi" ]; then
    missing mpi "Open MPI in the package"
    return
  fi
  if [ "$quick" = 1 ]; then
    sizes=(-b 64K -e 64K)
    many=(-n 3 -w 1)
  fi
  for ranks in 2 4; do
    mapfile -d '' start < <(over_mpi "$ranks")
    step "gpu_mpi_p$ranks" 180 "${start[@]}" "$folder/bin/test_mpi_devices"
    step "gpu_mpi_direct_p$ranks" 180 "${start[@]}" "$folder/bin/test_mpi_devices" direct
  done
  for program in sparse_allreduce gtopk_allreduce; do
    mpi_verb "$program" 2 "${sizes[@]}" --density 0.001,0.01 --feedback 1 "${calls[@]}"
    # Measures the cost of a small call.
    mpi_verb "${program}_small" 2 -b 256K -e 256K -k 64 --feedback 1 "${many[@]}"
  done
  mpi_verb sparse_alltoall 2 "${sizes[@]}" --density 0.001,0.01 "${calls[@]}"
  mpi_verb push_sum 2 "${sizes[@]}" --delay 0,2 --density 0,0.01 -n 10
}

# with_nccl: prints the command that starts a program so that it can load NCCL.
with_nccl() {
  if [ ${#loader[@]} = 0 ]; then
    printf '%s\0' env "LD_LIBRARY_PATH=$nccl:$folder/mpi/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  else
    printf '%s\0' "${loader[0]}" --library-path "$folder/lib:$folder/mpi/lib:$nccl"
  fi
}

# tentative NAME SECONDS COMMAND...: a step whose failure or timeout does not count.
tentative() {
  failure_counts=0
  step "$@"
  failure_counts=1
}

# Ranks are threads, one for each GPU.
step_nccl() {
  local ranks start program graph sizes=(-b 1M -e 64M -f 8) tests=("$folder/bin/test_gpu" -#)
  if ! test_files | grep -q '^nccl_test$'; then
    missing nccl "NCCL in the package's build"
    return
  fi
  if [ -z "$nccl" ]; then
    missing nccl libnccl.so.2
    return
  fi
  mapfile -d '' start < <(with_nccl)
  ranks=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU') || ranks=1
  local whole=(-b 1G -e 1G)
  if [ "$quick" = 1 ]; then
    sizes=(-b 64K -e 64K)
    whole=("${sizes[@]}")
  fi
  step gpu_nccl 240 "${start[@]}" "${tests[@]}" "[#nccl_test]" -d yes
  local name over=(env SPARSECOLL_TEST_TRANSPORT=nccl SPARSECOLL_TEST_SMALL=1)
  for name in dense group sparse steps; do
    step "gpu_nccl_$name" 240 "${over[@]}" "${start[@]}" "${tests[@]}" "[#${name}_test]" -d yes
  done
  local perf=("${start[@]}" "$folder/bin/verbs_perf")
  for program in sparse_allreduce gtopk_allreduce; do
    step "nccl_$program" 240 "${perf[@]}" "${program}_perf" --memory device --transport nccl \
      -t "$ranks" -J "$out/nccl_$program.json" "${sizes[@]}" --density 0.001,0.01 --feedback 1 \
      "${calls[@]}"
  done
  # Beside topk_float32, this is what a call takes beyond its selection.
  step nccl_whole 240 "${perf[@]}" sparse_allreduce_perf --memory device --transport nccl -t "$ranks" \
    -J "$out/nccl_whole.json" "${whole[@]}" --algo oktopk --density 0.0001,0.001,0.01 --feedback 1 \
    -c 0 "${calls[@]}"
  step nccl_tensors 240 "${perf[@]}" sparse_allreduce_perf --memory device --transport nccl \
    -t "$ranks" -J "$out/nccl_tensors.json" "${groups_of_tensors[@]}"
  # Measures the cost of a small call: queued by the host, and as a CUDA graph.
  local small=(-b 256K -e 4M -f 16 -k 64 --feedback 1 -n 500 -w 20)
  if [ "$quick" = 1 ]; then small=(-b 64K -e 64K -k 64 --feedback 1 -n 3 -w 1); fi
  for graph in 0 1; do
    step "nccl_gtopk_small_g$graph" 120 "${perf[@]}" gtopk_allreduce_perf --memory device \
      --transport nccl -t "$ranks" -J "$out/nccl_gtopk_small_g$graph.json" "${small[@]}" -G "$graph"
  done
  step nccl_push_sum 240 "${perf[@]}" push_sum_perf --memory device --transport nccl -t "$ranks" \
    -J "$out/nccl_push_sum.json" "${sizes[@]}" --delay 0,2 --density 0,0.01 -n 10
  # Only some versions of NCCL let ranks share a GPU, and there kernels may wait for each other for
  # ever.
  tentative gpu_nccl_two_ranks 60 env NCCL_MULTI_RANK_GPU_ENABLE=1 NCCL_MAX_CTAS=4 \
    NCCL_NVLS_ENABLE=0 "${start[@]}" "${tests[@]}" "[#nccl_two_ranks_test]" -d yes
  tentative gpu_nccl_two_ranks_verbs 120 env NCCL_MULTI_RANK_GPU_ENABLE=1 NCCL_MAX_CTAS=4 \
    NCCL_NVLS_ENABLE=0 SPARSECOLL_TEST_RANKS=2 "${over[@]}" "${start[@]}" "${tests[@]}" \
    "[#dense_test],[#group_test],[#sparse_test]" -d yes
}

step_torch() {
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

# sanitizer memcheck|racecheck|initcheck|synccheck: runs the tests on small inputs, because the tool is
# slow. Some tests let calls of CUDA fail on purpose, which memcheck would report.
sanitizer() {
  local file tool flags=(--tool "$1" --error-exitcode 9 --print-limit 20)
  if ! tool=$(find_tool compute-sanitizer); then
    missing "$1" compute-sanitizer
    return
  fi
  if [ "$1" = memcheck ]; then flags+=(--report-api-errors no); fi
  for file in $(plain_test_files); do
    at_once "$1_${file%_test}" 240 env SPARSECOLL_TEST_SMALL=1 "${libraries[@]}" "$tool" "${flags[@]}" \
      "${loader[@]}" "$folder/bin/test_gpu" -# "[#$file]"
  done
  end_at_once
}

step_memcheck() { sanitizer memcheck; }
step_racecheck() { sanitizer racecheck; }
step_initcheck() { sanitizer initcheck; }
step_synccheck() { sanitizer synccheck; }

# profile NAME TOOL ARGUMENT...: profiles the first launches of one small measurement by Nsight
# Compute, with all its metrics. It does not change clocks.
profile() {
  local name=$1 tool=$2
  shift 2
  step "ncu_$name" 240 "${libraries[@]}" "$tool" --target-processes all --clock-control none --set full --kernel-name-base demangled \
    --kernel-name 'regex:sparsecoll::cuda::' --launch-count 24 --force-overwrite \
    --export "$out/ncu_$name" "${loader[@]}" "$folder/bin/topk_perf" --memory device -n 1 -w 0 -c 0 "$@"
  if [ -f "$out/ncu_$name.ncu-rep" ]; then
    step "ncu_${name}_text" 120 "$tool" --import "$out/ncu_$name.ncu-rep" --page details
  fi
}

step_ncu() {
  local tool size=1G
  if ! tool=$(find_tool ncu); then
    missing ncu ncu
    return
  fi
  if [ "$quick" = 1 ]; then size=1M; fi
  profile select "$tool" -b "$size" -e "$size" --density 0.0001,0.001,0.01
  local kernel
  for kernel in merge pack unpack; do
    profile "$kernel" "$tool" --kernel "$kernel" -b "$size" -e "$size" --density 0.01,0.1 -p 8
  done
}

run_steps() {
  local tensors=$folder/resnet50.txt
  if [ "$quick" = 1 ]; then tensors=300,1,17,400; fi
  groups_of_tensors=(--tensors "$tensors" --algo oktopk --density 0.001 --feedback 1 -n 5 -w 2)
  if [ "$quick" = 1 ]; then
    densities=0.01
    pieces=2,8
    calls=(-n 3 -w 1)
  fi
  for group in "${groups[@]}"; do "step_$group"; done
}
