# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# Writes sparsecoll.pc, sparsecoll-mpi.pc and sparsecoll-fortran.pc. The dependencies of the static
# library are in Libs.private, not in Requires.private, because with the latter pkg-config would need
# hwloc's file for the shared library, too.

set(static_needs ${cxx_runtime} -pthread)
if(SPARSECOLL_HWLOC)
  get_filename_component(hwloc_folder "${Hwloc_LIBRARY}" DIRECTORY)
  if(NOT hwloc_folder IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
    list(APPEND static_needs "-L${hwloc_folder}")
  endif()
  list(APPEND static_needs -lhwloc)
endif()
if(SPARSECOLL_HAVE_CUDA)
  list(APPEND static_needs "-L${CUDAToolkit_LIBRARY_DIR}" -lcudart_static -lrt -ldl)
endif()
list(JOIN static_needs " " PC_STATIC_NEEDS)

if(BUILD_SHARED_LIBS)
  set(PC_LIBS "-lsparsecoll")
  set(PC_LIBS_PRIVATE "${PC_STATIC_NEEDS}")
else()
  set(PC_LIBS "-lsparsecoll ${PC_STATIC_NEEDS}")
  set(PC_LIBS_PRIVATE "")
endif()
# The prefix is relative to the file, so that an installation can be moved.
file(RELATIVE_PATH PC_PREFIX "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
string(REGEX REPLACE "/$" "" PC_PREFIX "${PC_PREFIX}")

# sparsecoll_install_pc(name component)
function(sparsecoll_install_pc name component)
  configure_file(cmake/${name}.pc.in "${CMAKE_CURRENT_BINARY_DIR}/${name}.pc" @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/${name}.pc"
          DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT ${component})
endfunction()

sparsecoll_install_pc(sparsecoll development)
if(SPARSECOLL_MPI)
  # The file has the flags that mpicc adds, so that programs can be built with another compiler.
  list(TRANSFORM MPI_C_INCLUDE_DIRS PREPEND -I OUTPUT_VARIABLE mpi_flags)
  list(JOIN mpi_flags " " PC_MPI_FLAGS)
  list(JOIN MPI_C_LIBRARIES " " mpi_libraries)
  set(PC_MPI_LIBS "${MPI_C_LINK_FLAGS} ${mpi_libraries}")
  sparsecoll_install_pc(sparsecoll-mpi mpi_development)
endif()
if(SPARSECOLL_FORTRAN)
  # Without a shared library, which loads that of MPI, the module's programs link it.
  set(PC_FORTRAN_REQUIRES sparsecoll)
  if(SPARSECOLL_MPI AND NOT BUILD_SHARED_LIBS)
    set(PC_FORTRAN_REQUIRES sparsecoll-mpi)
  endif()
  sparsecoll_install_pc(sparsecoll-fortran development)
endif()
