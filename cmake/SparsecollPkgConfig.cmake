# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# Writes sparsecoll.pc. The dependencies of the static library are in Libs.private, not in
# Requires.private, because with the latter pkg-config would need MPI's file for the shared library,
# too.

set(static_needs ${cxx_runtime} -pthread)
if(SPARSECOLL_MPI)
  list(APPEND static_needs ${MPI_C_LINK_FLAGS} ${MPI_C_LIBRARIES})
endif()
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
configure_file(cmake/sparsecoll.pc.in "${CMAKE_CURRENT_BINARY_DIR}/sparsecoll.pc" @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/sparsecoll.pc"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

if(SPARSECOLL_FORTRAN)
  configure_file(cmake/sparsecoll-fortran.pc.in
                 "${CMAKE_CURRENT_BINARY_DIR}/sparsecoll-fortran.pc" @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/sparsecoll-fortran.pc"
          DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endif()
