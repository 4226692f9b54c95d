# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
#   find_package(Hwloc [2.0])
#
# Finds hwloc, by pkg-config where there is one, or else in HWLOC_ROOT (Hwloc_ROOT) and in the folders
# of the system. It is installed beside sparsecollConfig.cmake, for users of the static library.
#
#   Hwloc_FOUND, Hwloc_VERSION, Hwloc_INCLUDE_DIR and Hwloc_LIBRARY (cached), Hwloc::hwloc

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(hwloc_pkgconfig QUIET hwloc)
endif()
find_path(Hwloc_INCLUDE_DIR hwloc.h HINTS ${hwloc_pkgconfig_INCLUDE_DIRS} PATHS ENV HWLOC_ROOT
          PATH_SUFFIXES include DOC "Folder of hwloc.h")
find_library(Hwloc_LIBRARY hwloc HINTS ${hwloc_pkgconfig_LIBRARY_DIRS} PATHS ENV HWLOC_ROOT
             PATH_SUFFIXES lib lib64 DOC "Library of hwloc")

# The version of the interface, 0x000XYYZZ.
set(Hwloc_VERSION)
if(Hwloc_INCLUDE_DIR)
  file(STRINGS "${Hwloc_INCLUDE_DIR}/hwloc.h" hwloc_line REGEX "^#define HWLOC_API_VERSION 0x")
  if(hwloc_line MATCHES "0x000([0-9a-f])([0-9a-f][0-9a-f])")
    math(EXPR hwloc_major "0x${CMAKE_MATCH_1}")
    math(EXPR hwloc_minor "0x${CMAKE_MATCH_2}")
    set(Hwloc_VERSION "${hwloc_major}.${hwloc_minor}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  Hwloc
  REQUIRED_VARS Hwloc_LIBRARY Hwloc_INCLUDE_DIR
  VERSION_VAR Hwloc_VERSION
  REASON_FAILURE_MESSAGE
    "Install it (Debian: libhwloc-dev), or build sparsecoll with -DSPARSECOLL_HWLOC=OFF")
mark_as_advanced(Hwloc_INCLUDE_DIR Hwloc_LIBRARY)

if(Hwloc_FOUND AND NOT TARGET Hwloc::hwloc)
  add_library(Hwloc::hwloc UNKNOWN IMPORTED)
  set_target_properties(
    Hwloc::hwloc PROPERTIES IMPORTED_LOCATION "${Hwloc_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES
                                                                "${Hwloc_INCLUDE_DIR}")
endif()
