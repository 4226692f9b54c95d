# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# Defines sparsecoll_add_catch_test() and sparsecoll_add_mpi_test(). Tests have the labels unit,
# ranks, mpi, fault, netlab, gpu, fuzz, consumer, checks, convergence, perf, python, long, large.

find_package(Catch2 REQUIRED)
set(SPARSECOLL_TESTS_DIR "${PROJECT_SOURCE_DIR}/tests")

# The target `sparsecoll_catch` links Catch2, version 2 or 3, with its main().
add_library(sparsecoll_catch INTERFACE)
target_include_directories(sparsecoll_catch INTERFACE "${SPARSECOLL_TESTS_DIR}")
# Tests are compiled with -O1, because they are compiled often and need not be fast.
target_compile_options(sparsecoll_catch INTERFACE -O1)
if(TARGET Catch2::Catch2WithMain)
  target_link_libraries(sparsecoll_catch INTERFACE Catch2::Catch2WithMain)
else()
  add_library(sparsecoll_catch_main OBJECT "${SPARSECOLL_TESTS_DIR}/support/catch_main.cpp")
  target_link_libraries(sparsecoll_catch_main PUBLIC Catch2::Catch2)
  target_link_libraries(sparsecoll_catch INTERFACE Catch2::Catch2)
  target_sources(sparsecoll_catch INTERFACE $<TARGET_OBJECTS:sparsecoll_catch_main>)
endif()

# Precompiles the headers that most tests include, with the flags of sparsecoll_catch. Targets with
# another level of optimisation cannot use the precompiled header, because GCC crashes. The target
# has an empty source, because without sources CMake makes no precompiled header.
add_library(sparsecoll_tests_precompiled OBJECT "${SPARSECOLL_TESTS_DIR}/support/precompiled.cpp")
target_link_libraries(sparsecoll_tests_precompiled PRIVATE sparsecoll_catch)
target_precompile_headers(
  sparsecoll_tests_precompiled PRIVATE
  [["support/catch.hpp"]] <algorithm> <atomic> <chrono> <cmath> <cstdint> <cstdio> <cstdlib> <cstring>
  <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <random> <set> <span> <stdexcept>
  <string> <thread> <utility> <vector>)

# Some tests allocate more memory than the machine has. The sanitizers must return null, not abort.
set(SPARSECOLL_SANITIZER_ENVIRONMENT
    ASAN_OPTIONS=allocator_may_return_null=1
    TSAN_OPTIONS=allocator_may_return_null=1
    UBSAN_OPTIONS=print_stacktrace=1)
# Ranks that are threads act as if nodes had two ranks each, for the hierarchical algorithm.
set(SPARSECOLL_THREADS_ENVIRONMENT SPARSECOLL_RANKS_PER_NODE=2 ${SPARSECOLL_SANITIZER_ENVIRONMENT})

# UCX reports peers that leave on the standard output, and patches functions of the C library, which
# sanitizers do, too.
set(SPARSECOLL_UCX_ENVIRONMENT UCX_LOG_LEVEL=fatal UCX_MEM_EVENTS=n
                               UCX_WARN_UNUSED_ENV_VARS=n ${SPARSECOLL_THREADS_ENVIRONMENT})

# sparsecoll_add_catch_test(NAME name LABEL label... SOURCES file... [SUPPORT target...]
#                           [UNDER_TEST target] [ENVIRONMENT name=value...])
# Adds a program that is one test of ctest. It sees the internal headers (src/) and tests/. SUPPORT
# names the libraries of test code that it links. UNDER_TEST names the build of sparsecoll that it
# tests; the default is the static library. The target is test_NAME; the target tests_LABEL builds
# all tests of one label. A test is killed after half an hour. That is far more than any needs, also
# where other programs keep all cores busy: a test of 70 s took more than 600 s with a load of 47 on
# two cores. Tests that run such a program in another way have the same limit. Ranks that hang are
# named and ended before (tests/support/hang_guard.hpp).
function(sparsecoll_add_catch_test)
  cmake_parse_arguments(arg "" "NAME;UNDER_TEST" "LABEL;SOURCES;SUPPORT;ENVIRONMENT" ${ARGN})
  if(NOT arg_UNDER_TEST)
    set(arg_UNDER_TEST sparsecoll::static)
  endif()
  set(target test_${arg_NAME})
  add_executable(${target} ${arg_SOURCES})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${target} PRIVATE ${arg_SUPPORT} ${arg_UNDER_TEST} sparsecoll_catch)
  target_precompile_headers(${target} REUSE_FROM sparsecoll_tests_precompiled)
  add_test(NAME ${arg_NAME} COMMAND ${target})
  foreach(label IN LISTS arg_LABEL)
    if(NOT TARGET tests_${label})
      add_custom_target(tests_${label})
    endif()
    add_dependencies(tests_${label} ${target})
  endforeach()
  set_tests_properties(
    ${arg_NAME} PROPERTIES LABELS "${arg_LABEL}" TIMEOUT 1800
                           ENVIRONMENT "${SPARSECOLL_THREADS_ENVIRONMENT};${arg_ENVIRONMENT}")
endfunction()

if(NOT SPARSECOLL_MPI)
  return()
endif()

# Lets mpirun start more ranks than cores, start as root, and start beside other mpiruns. Open MPI needs
# help for all three; MPICH does not.
execute_process(
  COMMAND "${MPIEXEC_EXECUTABLE}" --version
  OUTPUT_VARIABLE launcher_version
  ERROR_VARIABLE launcher_version)
set(SPARSECOLL_MPIEXEC "${MPIEXEC_EXECUTABLE}")
if(launcher_version MATCHES "Open MPI|OpenRTE")
  list(PREPEND SPARSECOLL_MPIEXEC "${PROJECT_SOURCE_DIR}/tests/support/start_mpi.sh")
  list(APPEND SPARSECOLL_MPIEXEC --oversubscribe --bind-to none)
endif()
find_program(SPARSECOLL_TIMEOUT timeout REQUIRED DOC "coreutils' timeout, the guard against hangs")

# sparsecoll_add_mpi_test(NAME name RANKS p... COMMAND program argument... [LABEL label...])
# Adds a test NAME.npP for each number of ranks P. A run that hangs is killed with all its ranks.
function(sparsecoll_add_mpi_test)
  cmake_parse_arguments(arg "" "NAME" "RANKS;COMMAND;LABEL" ${ARGN})
  if(NOT arg_LABEL)
    set(arg_LABEL mpi)
  endif()
  # add_test() replaces the name of a target only if it is the first word of the command.
  list(POP_FRONT arg_COMMAND program)
  if(TARGET ${program})
    set(program "$<TARGET_FILE:${program}>")
  endif()
  foreach(ranks IN LISTS arg_RANKS)
    set(test ${arg_NAME}.np${ranks})
    add_test(NAME ${test}
             COMMAND "${SPARSECOLL_TIMEOUT}" -k 10 600 ${SPARSECOLL_MPIEXEC}
                     "${MPIEXEC_NUMPROC_FLAG}" ${ranks} "${program}" ${arg_COMMAND})
    set_tests_properties(${test} PROPERTIES LABELS "${arg_LABEL}" TIMEOUT 630 PROCESSORS ${ranks})
  endforeach()
endfunction()
