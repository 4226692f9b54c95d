# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
#   find_package(NCCL [2.28])
#
# Finds the header of NCCL. The library is not linked: a program that uses NCCL has loaded it. The
# header is searched in NCCL_ROOT (a CMake or environment variable, which may name the folder
# site-packages/nvidia/nccl of a Python wheel), in the folders of the system and of CUDA's toolkit,
# and in the wheel of python3 (nvidia-nccl-cu12, -cu13).
#
#   NCCL_FOUND, NCCL_VERSION, NCCL_INCLUDE_DIR (cached), NCCL::headers

# Search again if the cached header no longer exists. find_path() searches again if it found none.
if(NCCL_INCLUDE_DIR AND NOT EXISTS "${NCCL_INCLUDE_DIR}/nccl.h")
  unset(NCCL_INCLUDE_DIR CACHE)
endif()

# find_package() makes find_path() search NCCL_ROOT first (CMP0074).
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS} DOC "Folder of nccl.h")

if(NOT NCCL_INCLUDE_DIR)
  find_program(nccl_python NAMES python3 python NO_CACHE)
  if(nccl_python)
    # Do not import the module, which would load its dependencies.
    set(nccl_where "import importlib.util as u; s = u.find_spec('nvidia.nccl'); \
print(list(s.submodule_search_locations)[0] if s else '')")
    execute_process(COMMAND "${nccl_python}" -c "${nccl_where}" OUTPUT_VARIABLE nccl_wheel
                    ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(nccl_wheel)
      find_path(NCCL_INCLUDE_DIR nccl.h PATHS "${nccl_wheel}/include" NO_DEFAULT_PATH)
    endif()
  endif()
endif()

set(NCCL_VERSION)
if(NCCL_INCLUDE_DIR)
  file(STRINGS "${NCCL_INCLUDE_DIR}/nccl.h" nccl_lines
       REGEX "^#define[ \t]+NCCL_(MAJOR|MINOR|PATCH)[ \t]+[0-9]+")
  foreach(part IN ITEMS MAJOR MINOR PATCH)
    string(REGEX MATCH "NCCL_${part}[ \t]+([0-9]+)" nccl_line "${nccl_lines}")
    if(nccl_line)
      list(APPEND NCCL_VERSION "${CMAKE_MATCH_1}")
    endif()
  endforeach()
  list(JOIN NCCL_VERSION "." NCCL_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  NCCL
  REQUIRED_VARS NCCL_INCLUDE_DIR NCCL_VERSION
  VERSION_VAR NCCL_VERSION)
mark_as_advanced(NCCL_INCLUDE_DIR)

if(NCCL_FOUND AND NOT TARGET NCCL::headers)
  add_library(NCCL::headers INTERFACE IMPORTED)
  target_include_directories(NCCL::headers INTERFACE "${NCCL_INCLUDE_DIR}")
endif()
