# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# Decides whether to build the Fortran module. SPARSECOLL_FORTRAN is ON by default if there is a
# compiler and, with MPI, the MPI of C also supports Fortran.

include(CheckLanguage)

set(sparsecoll_has_fortran OFF)
if(NOT DEFINED SPARSECOLL_FORTRAN)
  check_language(Fortran)
  if(CMAKE_Fortran_COMPILER)
    set(sparsecoll_has_fortran ON)
  endif()
endif()
option(SPARSECOLL_FORTRAN "Build the Fortran module" ${sparsecoll_has_fortran})
if(NOT SPARSECOLL_FORTRAN)
  return()
endif()
enable_language(Fortran)

if(SPARSECOLL_MPI)
  # If several MPIs are installed, use the one of the C compiler.
  if(MPI_C_COMPILER MATCHES "mpicc" AND NOT MPI_Fortran_COMPILER)
    string(REGEX REPLACE "mpicc([^/]*)$" "mpifort\\1" sibling "${MPI_C_COMPILER}")
    if(EXISTS "${sibling}")
      set(MPI_Fortran_COMPILER "${sibling}" CACHE FILEPATH "MPI compiler for Fortran")
    endif()
  endif()
  find_package(MPI COMPONENTS C Fortran)
  list(GET MPI_C_LIBRARIES 0 sparsecoll_mpi_of_c)
  if(NOT MPI_Fortran_FOUND OR NOT MPI_Fortran_HAVE_F08_MODULE
     OR NOT sparsecoll_mpi_of_c IN_LIST MPI_Fortran_LIBRARIES)
    message(STATUS "No Fortran module: the MPI of C has no module mpi_f08 for this compiler")
    set(SPARSECOLL_FORTRAN OFF CACHE BOOL "Build the Fortran module" FORCE)
    return()
  endif()
endif()

# Folders of the module files: in the build, and when installed.
set(sparsecoll_fortran_modules "${PROJECT_BINARY_DIR}/src/fortran/modules")
set(SPARSECOLL_FORTRAN_INSTALL_DIR "${CMAKE_INSTALL_INCLUDEDIR}/sparsecoll/fortran")

# The flags of SparsecollFlags.cmake, for gfortran.
set(sparsecoll_gfortran "$<COMPILE_LANG_AND_ID:Fortran,GNU>")
add_compile_options(
  "$<${sparsecoll_gfortran}:-std=f2018;-Wall;-Wextra;-ffp-contract=off>"
  "$<$<AND:${sparsecoll_gfortran},$<BOOL:${SPARSECOLL_WERROR}>>:-Werror>")
