# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
#   find_package(UCX [1.13])
#
# Finds the headers of UCX, in UCX_ROOT (a CMake or environment variable) and in the folders of the
# system. The library is not linked: sparsecoll loads it at run time.
#
#   UCX_FOUND, UCX_VERSION, UCX_INCLUDE_DIR (cached), UCX::headers

# find_package() makes find_path() search UCX_ROOT first (CMP0074).
find_path(UCX_INCLUDE_DIR ucp/api/ucp.h DOC "Folder of ucp/api/ucp.h")

set(UCX_VERSION)
if(UCX_INCLUDE_DIR AND EXISTS "${UCX_INCLUDE_DIR}/ucp/api/ucp_version.h")
  file(STRINGS "${UCX_INCLUDE_DIR}/ucp/api/ucp_version.h" ucx_lines
       REGEX "^#define[ \t]+UCP_API_(MAJOR|MINOR)[ \t]+[0-9]+")
  foreach(part IN ITEMS MAJOR MINOR)
    string(REGEX MATCH "UCP_API_${part}[ \t]+([0-9]+)" ucx_line "${ucx_lines}")
    if(ucx_line)
      list(APPEND UCX_VERSION "${CMAKE_MATCH_1}")
    endif()
  endforeach()
  list(JOIN UCX_VERSION "." UCX_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  UCX
  REQUIRED_VARS UCX_INCLUDE_DIR UCX_VERSION
  VERSION_VAR UCX_VERSION)
mark_as_advanced(UCX_INCLUDE_DIR)

if(UCX_FOUND AND NOT TARGET UCX::headers)
  add_library(UCX::headers INTERFACE IMPORTED)
  target_include_directories(UCX::headers INTERFACE "${UCX_INCLUDE_DIR}")
endif()
