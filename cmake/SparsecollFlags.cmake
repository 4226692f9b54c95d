# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# Compiler flags for all targets of this directory and below. They are set per directory, not per
# target, because the library and the oracles that check it need the same floating-point rules to
# give the same bits, and because sanitizers need all objects.

set(CMAKE_C_STANDARD 99)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, RelWithDebInfo or Debug" FORCE)
  endif()
  find_program(SPARSECOLL_CCACHE ccache DOC "Compiler cache, used when it is there")
  if(SPARSECOLL_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_C_COMPILER_LAUNCHER "${SPARSECOLL_CCACHE}")
    # Without CCACHE_DEPEND ccache compares preprocessed sources. nvcc preprocesses them for devices
    # only, so ccache would take an old object when code for the host has changed.
    set(CMAKE_CUDA_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_DEPEND=1
                                     "${SPARSECOLL_CCACHE}")
    # ccache needs these options to cache objects that use a precompiled header.
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
                                    CCACHE_SLOPPINESS=pch_defines,time_macros "${SPARSECOLL_CCACHE}")
    add_compile_options(
      "$<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
endif()

set(sparsecoll_host "$<COMPILE_LANGUAGE:C,CXX>")
add_compile_options(
  "$<${sparsecoll_host}:-Wall;-Wextra;-ffp-contract=off;-fno-fast-math>"
  "$<$<AND:${sparsecoll_host},$<BOOL:${SPARSECOLL_WERROR}>>:-Werror>")

# Without these definitions mpi.h of old MPIs includes C++ bindings, which need another library.
add_compile_definitions(OMPI_SKIP_MPICXX=1 MPICH_SKIP_MPICXX=1)

if(SPARSECOLL_SANITIZE)
  string(REPLACE ";" "," sparsecoll_sanitizers "${SPARSECOLL_SANITIZE}")
  add_compile_options(
    "$<${sparsecoll_host}:-fsanitize=${sparsecoll_sanitizers};-fno-sanitize-recover=all;-fno-omit-frame-pointer>"
  )
  add_link_options("-fsanitize=${sparsecoll_sanitizers}")
endif()
