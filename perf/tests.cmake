# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0

# Runs the programs like users do, on vectors too small for measurements. The programs' own checks
# of their results are the tests. The label is perf.

# sparsecoll_add_perf_test(name COMMAND argument... [ENVIRONMENT variable=value...]
#                          [PROPERTIES property value...])
# Adds the test perf.name.
function(sparsecoll_add_perf_test name)
  cmake_parse_arguments(arg "" "" "COMMAND;ENVIRONMENT;PROPERTIES" ${ARGN})
  add_test(NAME perf.${name} COMMAND ${arg_COMMAND})
  set_tests_properties(perf.${name} PROPERTIES LABELS perf TIMEOUT 600 ENVIRONMENT
                                              "${arg_ENVIRONMENT}" ${arg_PROPERTIES})
endfunction()

set(small -b 64K -e 64K -n 2 -w 1 --density 0,0.01,0.5)
foreach(form IN ITEMS dense sparse sum)
  foreach(verb IN ITEMS sparse gtopk)
    sparsecoll_add_perf_test(
      ${verb}_allreduce.threads.${form}
      COMMAND ${verb}_allreduce_perf --transport local -t 5 --form ${form} --feedback 1 -o avg
              ${small})
  endforeach()
endforeach()
foreach(wire IN ITEMS bf16 int8)
  foreach(type IN ITEMS float32 float16)
    foreach(form IN ITEMS dense sparse sum)
      sparsecoll_add_perf_test(
        sparse_allreduce.${wire}_wire.${type}.${form}
        COMMAND sparse_allreduce_perf --transport local -t 5 --wire ${wire} -d ${type} --form
                ${form} --feedback 1 -o avg ${small}
        PROPERTIES PASS_REGULAR_EXPRESSION "wire ${wire}.*Wrong results : 0 OK")
    endforeach()
  endforeach()
  sparsecoll_add_perf_test(
    gtopk_allreduce.${wire}_wire COMMAND gtopk_allreduce_perf --transport local -t 5 --wire ${wire}
                                         ${small}
    PROPERTIES PASS_REGULAR_EXPRESSION "wire ${wire}.*Wrong results : 0 OK")
endforeach()
sparsecoll_add_perf_test(
  sparse_allreduce.makespan COMMAND sparse_allreduce_perf --transport local -t 3 -a makespan ${small}
  PROPERTIES PASS_REGULAR_EXPRESSION "makespan over ranks.*Wrong results : 0 OK")
sparsecoll_add_perf_test(
  sparse_allreduce.rounds COMMAND sparse_allreduce_perf --transport local -t 3 --feedback 1 ${small}
                                  --rounds 2
  PROPERTIES PASS_REGULAR_EXPRESSION "2 calls after 1, 2 rounds, algorithms by turns.*Wrong results : 0 OK")
sparsecoll_add_perf_test(
  rounds.options COMMAND sparse_allreduce_perf --transport local -n 3 --rounds 4
  PROPERTIES PASS_REGULAR_EXPRESSION "--rounds: needs at least one timed call a round, as by -n 4")
sparsecoll_add_perf_test(
  rounds.tensors COMMAND sparse_allreduce_perf --transport local --rounds 2 --tensors 12,13
  PROPERTIES PASS_REGULAR_EXPRESSION "--rounds: cannot be used with --tensors")
sparsecoll_add_perf_test(
  rounds.twice COMMAND sparse_allreduce_perf --transport local --rounds 2 --algo oktopk,oktopk
  PROPERTIES PASS_REGULAR_EXPRESSION "--algo: oktopk is named twice.*--rounds needs different ones")
sparsecoll_add_perf_test(blocks COMMAND block_perf --count 5000 --entries 100 -t 1,3 -n 2)
# The predictions of the cost model, on a simulated network that nearly equals the model.
add_test(NAME perf.tune COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/test_tune.sh"
                                $<TARGET_FILE:sparse_allreduce_perf>)
set_tests_properties(perf.tune PROPERTIES LABELS perf TIMEOUT 600)
# The simulated network: the programs on it, and then its own test.
set(simulated --transport simulated --ranks 7 --rate 100mbit --latency 20us)
foreach(form IN ITEMS dense sparse sum)
  sparsecoll_add_perf_test(
    sparse_allreduce.simulated.${form}
    COMMAND sparse_allreduce_perf ${simulated} --ranks-per-node 2 --form ${form} --feedback 1 ${small})
endforeach()
sparsecoll_add_perf_test(gtopk_allreduce.simulated COMMAND gtopk_allreduce_perf ${simulated} --cores 2
                                                           --algo gtopk ${small})
sparsecoll_add_perf_test(sparse_alltoall.simulated COMMAND sparse_alltoall_perf ${simulated}
                                                           --compute 0 ${small})
sparsecoll_add_perf_test(push_sum.simulated COMMAND push_sum_perf ${simulated} -n 4 --delay 0,2,-1
                                                    --density 0,0.1)
sparsecoll_add_perf_test(push_sum.simulated.slow COMMAND push_sum_perf ${simulated} -n 3 --slow
                                                         --work 1 --delay 0,2)
sparsecoll_add_perf_test(
  simulated.rate COMMAND sparse_allreduce_perf --transport simulated --rate fast
  PROPERTIES PASS_REGULAR_EXPRESSION
             "--rate: expected a number and a unit, as in 1gbit, got fast")
sparsecoll_add_perf_test(
  simulated.options COMMAND sparse_allreduce_perf --transport local --latency 5us
  PROPERTIES PASS_REGULAR_EXPRESSION "--latency: needs --transport simulated")
sparsecoll_add_catch_test(
  NAME perf_simulated_network
  LABEL perf
  SOURCES simulated/network_test.cpp
  SUPPORT sparsecoll_perf sparsecoll_test_support)
sparsecoll_add_catch_test(
  NAME perf_timing
  LABEL perf
  SOURCES common/timing_test.cpp
  SUPPORT sparsecoll_perf sparsecoll_perf_storage ${whole_library} sparsecoll_test_support)
sparsecoll_add_catch_test(
  NAME perf_gradients
  LABEL perf
  SOURCES common/gradients_test.cpp
  SUPPORT sparsecoll_perf sparsecoll_test_support)

sparsecoll_add_perf_test(sparse_allreduce.float64 COMMAND sparse_allreduce_perf --transport local
                                                          -d float64 --skew 16 ${small})
foreach(skew IN ITEMS 0 1.5)
  sparsecoll_add_perf_test(sparse_alltoall.threads.skew${skew} COMMAND
                           sparse_alltoall_perf --transport local -t 5 --skew ${skew} ${small})
endforeach()
foreach(type IN ITEMS float16 bfloat16)
  foreach(form IN ITEMS dense sparse sum)
    sparsecoll_add_perf_test(
      sparse_allreduce.${type}.${form} COMMAND sparse_allreduce_perf --transport local -t 3 -d ${type}
                                               --form ${form} --feedback 1 -o avg ${small})
  endforeach()
  sparsecoll_add_perf_test(gtopk_allreduce.${type} COMMAND gtopk_allreduce_perf --transport local -t 5
                                                           -d ${type} --feedback 1 ${small})
  sparsecoll_add_perf_test(sparse_alltoall.${type} COMMAND sparse_alltoall_perf --transport local -t 3
                                                           -d ${type} ${small})
  sparsecoll_add_perf_test(topk.${type} COMMAND topk_perf -t 2 -d ${type}
                                                --input random,equal,sorted,hot,two-valued ${small})
endforeach()
foreach(simd IN ITEMS auto portable)
  sparsecoll_add_perf_test(
    topk.threads.${simd}
    COMMAND topk_perf --threads 3 --simd ${simd} -b 4M -e 4M -n 2 -w 1 --density 0.001
            --input random,equal,sorted,hot,two-valued)
endforeach()
sparsecoll_add_perf_test(
  topk COMMAND topk_perf -t 2 --input random,equal,sorted,hot,two-valued ${small})

sparsecoll_add_perf_test(
  topk.flight_recorder COMMAND topk_perf --flight-recorder 20000 -n 3
  PROPERTIES PASS_REGULAR_EXPRESSION "that waits for 8 peers +[0-9.]+ +[0-9.]+")

# CUDA kernels. Without a GPU the tests are skipped; if GPUs are hidden, the program must say so.
set(device --memory device -n 2 -w 1 -b 64K -e 256K --density 0,0.01,0.5)
foreach(kernel IN ITEMS select "merge;-p;1,5" "pack;-p;1,5" "unpack;-p;1,5")
  list(GET kernel 0 name)
  sparsecoll_add_perf_test(
    topk.device.${name} COMMAND topk_perf --kernel ${kernel} ${device}
    PROPERTIES SKIP_RETURN_CODE 3)
endforeach()
sparsecoll_add_perf_test(
  topk.no_device COMMAND topk_perf --memory device
  ENVIRONMENT CUDA_VISIBLE_DEVICES=
  PROPERTIES PASS_REGULAR_EXPRESSION "--memory device: (no CUDA device|this build has no CUDA)")
sparsecoll_add_perf_test(
  topk.device_option COMMAND topk_perf --kernel merge
  PROPERTIES PASS_REGULAR_EXPRESSION "--kernel: needs --memory device")
sparsecoll_add_perf_test(
  topk.device_pieces COMMAND topk_perf --memory device -p 8
  PROPERTIES PASS_REGULAR_EXPRESSION "--pieces: needs --kernel merge, pack or unpack")
sparsecoll_add_perf_test(
  topk.negative_size COMMAND topk_perf -b -4K
  PROPERTIES PASS_REGULAR_EXPRESSION "--minbytes: -4K is negative")

# The collectives on vectors in device memory: on the emulator of a GPU, and on a GPU if there is
# one.
add_library(sparsecoll_perf_simt STATIC device/storage.cpp device/connect_nccl.cpp
                                        device/nccl_linked.cpp)
target_link_libraries(sparsecoll_perf_simt PUBLIC sparsecoll_perf sparsecoll_simt)
add_executable(simt_verbs_perf verbs_perf.cpp)
target_link_libraries(simt_verbs_perf PRIVATE sparsecoll_perf sparsecoll_perf_simt)
set(on_device --memory device --transport local -t 3 -b 8K -e 8K)
set(calls -n 1 -w 1 --density 0,0.01,0.5)
foreach(name IN ITEMS device simt)
  if(name STREQUAL "device")
    set(verbs_perf verbs_perf)
    set(properties PROPERTIES SKIP_RETURN_CODE 3 RESOURCE_LOCK gpu)
  else()
    set(verbs_perf simt_verbs_perf)
    set(properties PROPERTIES PASS_REGULAR_EXPRESSION
        "memory of [1-9] GPUs?: emulator.*Wrong results : 0 OK")
  endif()
  foreach(form IN ITEMS dense sparse sum)
    foreach(verb IN ITEMS sparse gtopk)
      sparsecoll_add_perf_test(
        ${verb}_allreduce.${name}.${form}
        COMMAND ${verbs_perf} ${verb}_allreduce_perf --form ${form} --feedback 1 -o avg ${on_device}
                ${calls} ${properties})
    endforeach()
  endforeach()
  sparsecoll_add_perf_test(
    sparse_allreduce.${name}.copied
    COMMAND ${verbs_perf} sparse_allreduce_perf --memory copied --transport local -t 3 -b 8K -e 8K
            --feedback 1 ${calls} ${properties})
  sparsecoll_add_perf_test(
    sparse_allreduce.${name}.bfloat16
    COMMAND ${verbs_perf} sparse_allreduce_perf -d bfloat16 --feedback 1 ${on_device} ${calls}
            ${properties})
  sparsecoll_add_perf_test(
    sparse_alltoall.${name}
    COMMAND ${verbs_perf} sparse_alltoall_perf --skew 1.5 -d float64 ${on_device} ${calls}
            ${properties})
  sparsecoll_add_perf_test(
    push_sum.${name}
    COMMAND ${verbs_perf} push_sum_perf -n 4 --delay 0,2 --density 0,0.1 ${on_device}
            ${properties})
  sparsecoll_add_perf_test(
    push_sum.${name}.slow
    COMMAND ${verbs_perf} push_sum_perf -n 3 --slow --work 1 ${on_device}
    PROPERTIES SKIP_RETURN_CODE 3 RESOURCE_LOCK gpu)
  sparsecoll_add_perf_test(
    fusion.${name} COMMAND ${verbs_perf} sparse_allreduce_perf --memory device --transport local -t 2
                           --algo oktopk --tensors 300,1,17,400 -n 1 -w 0 --feedback 1
                           ${properties})
endforeach()
# The collectives over the stand-in of NCCL.
set(once -n 1 -w 1 --density 0.01)
foreach(call IN ITEMS "sparse_allreduce;--feedback;1;${once}" "gtopk_allreduce;-o;avg;${once}"
                      "sparse_alltoall;${once}" "push_sum;-n;4;--delay;0,2;--density;0,0.1")
  list(POP_FRONT call verb)
  sparsecoll_add_perf_test(
    ${verb}.nccl.simt
    COMMAND simt_verbs_perf ${verb}_perf --memory device --transport nccl -t 3 -b 8K -e 8K ${call}
    PROPERTIES PASS_REGULAR_EXPRESSION
               "as threads over nccl.*memory of 3 GPUs: emulator.*Wrong results : 0 OK")
endforeach()
sparsecoll_add_perf_test(
  fusion.nccl.simt
  COMMAND simt_verbs_perf sparse_allreduce_perf --memory device --transport nccl -t 2 --algo oktopk
          --tensors 300,1,17,400 -n 1 -w 0 --feedback 1
  PROPERTIES PASS_REGULAR_EXPRESSION "as threads over nccl.*Wrong results : 0 OK")
sparsecoll_add_perf_test(
  nccl.host_memory COMMAND simt_verbs_perf gtopk_allreduce_perf --transport nccl
  PROPERTIES PASS_REGULAR_EXPRESSION "--transport: nccl needs --memory device")
sparsecoll_add_perf_test(
  copied.nccl COMMAND simt_verbs_perf gtopk_allreduce_perf --memory copied --transport nccl
  PROPERTIES PASS_REGULAR_EXPRESSION "--transport: nccl needs --memory device")
sparsecoll_add_perf_test(
  copied.form COMMAND simt_verbs_perf gtopk_allreduce_perf --memory copied --transport local --form sum
  PROPERTIES PASS_REGULAR_EXPRESSION "--memory: copied needs --form dense, and no --tensors")
sparsecoll_add_perf_test(
  nccl.push_sum_host_memory COMMAND simt_verbs_perf push_sum_perf --transport nccl
  PROPERTIES PASS_REGULAR_EXPRESSION "--transport: nccl needs --memory device")
# Calls in a CUDA graph.
sparsecoll_add_perf_test(
  gtopk_allreduce.graph.simt
  COMMAND simt_verbs_perf gtopk_allreduce_perf --memory device --transport nccl -t 2 -b 8K -e 8K
          --feedback 1 --cudagraph 1 ${once}
  PROPERTIES PASS_REGULAR_EXPRESSION
             "calls are launches of a CUDA graph.*Wrong results : 0 OK")
foreach(call IN ITEMS "no_nccl;gtopk;needs --transport nccl;--transport;local"
                      "not_gtopk;sparse;auto cannot be captured;--transport;nccl;--algo;auto"
                      "not_dense;gtopk;needs --form dense;--transport;nccl;--form;sparse")
  list(POP_FRONT call name verb words)
  sparsecoll_add_perf_test(
    cudagraph.${name} COMMAND simt_verbs_perf ${verb}_allreduce_perf --memory device -G 1 ${call}
    PROPERTIES PASS_REGULAR_EXPRESSION "--cudagraph: ${words}")
endforeach()
foreach(program IN LISTS programs)
  sparsecoll_add_perf_test(
    no_device.${program} COMMAND ${program} --memory device
    ENVIRONMENT CUDA_VISIBLE_DEVICES=
    PROPERTIES PASS_REGULAR_EXPRESSION
               "${program}: --memory device: (no CUDA device|this build has no CUDA)")
endforeach()
sparsecoll_add_perf_test(
  verbs COMMAND verbs_perf sparse_allreduce_perf --transport local -t 2 ${small}
  PROPERTIES PASS_REGULAR_EXPRESSION "Wrong results : 0 OK")
sparsecoll_add_perf_test(
  verbs.unknown COMMAND verbs_perf sparse_scan_perf
  PROPERTIES PASS_REGULAR_EXPRESSION "usage: verbs_perf PROGRAM")
sparsecoll_add_perf_test(
  no_device.exit_status
  COMMAND sh -c "\"$1\" --memory device && exit 1 || test $? = 3" - $<TARGET_FILE:sparse_alltoall_perf>
  ENVIRONMENT CUDA_VISIBLE_DEVICES=)

if(SPARSECOLL_HAVE_UCX)
  set(launch "${CMAKE_CURRENT_SOURCE_DIR}/launch")
  sparsecoll_add_perf_test(
    ucx COMMAND "${launch}" -n 3 $<TARGET_FILE:sparse_allreduce_perf> --transport ucx --feedback 1 ${small}
    ENVIRONMENT UCX_LOG_LEVEL=fatal
    PROPERTIES PASS_REGULAR_EXPRESSION "3 ranks over ucx.*Wrong results : 0 OK")
  sparsecoll_add_perf_test(launch.failure COMMAND sh -c "timeout 20 \"$1\" -n 2 sh -c 'exit $((RANK * 3))' && exit 1 || test $? = 3" -
                                                  "${launch}")
endif()

sparsecoll_add_perf_test(
  push_sum COMMAND push_sum_perf --transport local -t 5 -n 6 --delay 0,2,-1 --density 0,0.1
                   --graph exponential,npeer:2,ring,bipartite -d float64)
# The check of the sums allows for rounding, of which many steps cause more.
sparsecoll_add_perf_test(
  push_sum.many_steps COMMAND push_sum_perf --transport local -t 4 -n 240 -b 4K -e 4K
                              --density 0.01 --mixing 0.02)
sparsecoll_add_perf_test(push_sum.slow COMMAND push_sum_perf --transport local -t 4 -n 5 --slow
                                               --work 1 --delay 0,2)
sparsecoll_add_perf_test(
  push_sum.bad_graph COMMAND push_sum_perf --graph star
  PROPERTIES PASS_REGULAR_EXPRESSION "star is no graph: exponential, npeer:P, ring or bipartite")

# Groups of tensors, of which one has one value and one is larger than most groups.
set(tensors --tensors 3000,1,17,40000,256,256,5000,12 -n 1 -w 0)
sparsecoll_add_perf_test(fusion COMMAND sparse_allreduce_perf --transport local -t 3 --feedback 1 -o
                                        avg ${tensors})
sparsecoll_add_perf_test(fusion.bfloat16 COMMAND sparse_allreduce_perf --transport local -t 2 -d
                                                 bfloat16 --algo oktopk ${tensors})
sparsecoll_add_perf_test(
  fusion.file COMMAND sparse_allreduce_perf --transport local -t 2 --algo oktopk -n 1 -w 0 --tensors
                      "${CMAKE_CURRENT_SOURCE_DIR}/tensors/resnet20.txt"
  PROPERTIES PASS_REGULAR_EXPRESSION "59 tensors of 269722 values.*Wrong results : 0 OK")
sparsecoll_add_perf_test(
  fusion.bad_list COMMAND sparse_allreduce_perf --transport local -t 1 --tensors 12,x
  PROPERTIES PASS_REGULAR_EXPRESSION "expected counts from 1 to 2.32 - 1 in the list")

sparsecoll_add_perf_test(
  fusion.reuse COMMAND sparse_allreduce_perf --transport local -t 2 --algo oktopk-reuse ${tensors}
  PROPERTIES PASS_REGULAR_EXPRESSION "oktopk-reuse gives every step another result")

# Runs another algorithm than the one whose result is expected. The check must report wrong results,
# and set the exit status.
set(deceived COMMAND sparse_allreduce_perf --transport local -t 2 --algo oktopk -b 64K -e 64K -n 1
             ENVIRONMENT SPARSECOLL_ALGO=dense)
sparsecoll_add_perf_test(check_sees_wrong_results.exit_status ${deceived} PROPERTIES WILL_FAIL
                         TRUE)
sparsecoll_add_perf_test(check_sees_wrong_results.message ${deceived} PROPERTIES
                         PASS_REGULAR_EXPRESSION "Wrong results : [1-9][0-9]* FAILED")

# The message for a bad value lists the valid ones: the library's algorithms and two variants.
set(table "${PROJECT_SOURCE_DIR}/src/calls/algorithm_info.hpp")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${table}")
file(STRINGS "${table}" names REGEX "\\.name = \"")
list(TRANSFORM names REPLACE ".*\\.name = \"([^\"]+)\".*" "\\1")
list(FIND names oktopk oktopk)
math(EXPR next "${oktopk} + 1")
list(INSERT names ${next} oktopk-reuse)
list(JOIN names "," names)
sparsecoll_add_perf_test(
  bad_option COMMAND sparse_allreduce_perf --algo no-algorithm
  PROPERTIES PASS_REGULAR_EXPRESSION "no-algorithm not in {${names},auto-reordered")

if(SPARSECOLL_MPI)
  sparsecoll_add_mpi_test(NAME perf.fusion.mpi RANKS 3 LABEL perf
                          COMMAND sparse_allreduce_perf --algo oktopk ${tensors})
  sparsecoll_add_mpi_test(NAME perf.sparse_alltoall.mpi RANKS 3 LABEL perf
                          COMMAND sparse_alltoall_perf --skew 1 -d float64 ${small})
  foreach(verb IN ITEMS sparse_allreduce gtopk_allreduce sparse_alltoall)
    sparsecoll_add_mpi_test(NAME perf.${verb}.mpi.simt RANKS 3 LABEL perf
                            COMMAND simt_verbs_perf ${verb}_perf --memory device -b 8K -e 8K ${calls})
  endforeach()
  sparsecoll_add_mpi_test(NAME perf.push_sum.mpi.simt RANKS 3 LABEL perf
                          COMMAND simt_verbs_perf push_sum_perf --memory device -n 4 -b 8K -e 8K)
  sparsecoll_add_mpi_test(NAME perf.push_sum.mpi RANKS 3 LABEL perf
                          COMMAND push_sum_perf -n 6 --delay 0,-1 --density 0,0.1)
  sparsecoll_add_mpi_test(NAME perf.push_sum.mpi.slow RANKS 3 LABEL perf
                          COMMAND push_sum_perf -n 5 --slow --work 1 --delay 2)
  foreach(form IN ITEMS dense sparse sum)
    foreach(verb IN ITEMS sparse gtopk)
      sparsecoll_add_mpi_test(NAME perf.${verb}_allreduce.mpi.${form} RANKS 3 LABEL perf
                              COMMAND ${verb}_allreduce_perf --form ${form} --feedback 1 ${small})
    endforeach()
  endforeach()
endif()

if(SPARSECOLL_MPI)
  # All ranks are on one host: there is only one pattern, and no link whose rate is checked.
  sparsecoll_add_mpi_test(NAME perf.link RANKS 3 LABEL perf COMMAND link_perf --bytes 64K -n 2 --rate 10)
  set_tests_properties(perf.link.np3 PROPERTIES PASS_REGULAR_EXPRESSION
                       "same host +65536 .* -\n.*Wrong results : 0 OK")
endif()

find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  # The summaries in results/ must equal what cluster_report.py prints for their rows.
  file(GLOB results CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/results/*/jobs.jsonl")
  foreach(jobs IN LISTS results)
    get_filename_component(folder "${jobs}" DIRECTORY)
    get_filename_component(name "${folder}" NAME)
    sparsecoll_add_perf_test(
      report.${name}
      COMMAND sh -c "\"$1\" -B \"$2\" \"$3\" | diff \"$3/summary.md\" -" -
              "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/cluster_report.py" "${folder}")
  endforeach()
  sparsecoll_add_perf_test(perfetto COMMAND "${Python3_EXECUTABLE}" -B
                                            "${CMAKE_CURRENT_SOURCE_DIR}/test_perfetto.py"
                                            $<TARGET_FILE:verbs_perf>)
  if(BUILD_SHARED_LIBS AND NOT SPARSECOLL_SANITIZE)
    # The conserving rule loses rounding errors, the published one percents.
    sparsecoll_add_perf_test(
      residual_rule
      COMMAND "${PROJECT_SOURCE_DIR}/tests/python/run.sh" numpy
              "${CMAKE_CURRENT_SOURCE_DIR}/residual_rule.py" --steps 10 --count 1000
      ENVIRONMENT "SPARSECOLL_LIBRARY=$<TARGET_FILE:sparsecoll>"
      PROPERTIES SKIP_RETURN_CODE 77 PASS_REGULAR_EXPRESSION
                 "conserving\"[^]]* [0-9.]+e-1[5-9]\\].*paper\"[^]]* 0\\.0[0-9]+\\]")
  endif()
  # matplotlib is optional.
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" -c "import matplotlib"
    RESULT_VARIABLE no_matplotlib
    OUTPUT_QUIET ERROR_QUIET)
  if(no_matplotlib EQUAL 0)
    sparsecoll_add_perf_test(plot COMMAND "${Python3_EXECUTABLE}" -B
                                          "${CMAKE_CURRENT_SOURCE_DIR}/test_plot.py")
    sparsecoll_add_perf_test(timeline COMMAND "${Python3_EXECUTABLE}" -B
                                              "${CMAKE_CURRENT_SOURCE_DIR}/test_timeline.py")
  endif()
endif()
