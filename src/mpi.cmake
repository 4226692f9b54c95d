# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0

# The libraries of communicators over MPI, shared and static. They are apart, so that libsparsecoll
# and programs that do not use MPI need none.

# No other source of the library may include mpi.h.
add_library(
  sparsecoll_mpi_objects OBJECT
  api/init_mpi.cpp transport/mpi.cpp transport/mpi_cuda.cpp transport/mpi_duplicate.cpp
  transport/mpi_inbox.cpp transport/mpi_outbox.cpp)
set_target_properties(sparsecoll_mpi_objects PROPERTIES ${hidden})
target_include_directories(sparsecoll_mpi_objects PRIVATE "${PROJECT_SOURCE_DIR}/include"
                                                          "${CMAKE_CURRENT_SOURCE_DIR}")
target_link_libraries(sparsecoll_mpi_objects PRIVATE Threads::Threads MPI::MPI_C)

# MPI is a public dependency, because sparsecoll_mpi.h includes mpi.h.
add_library(sparsecoll_mpi_static STATIC $<TARGET_OBJECTS:sparsecoll_mpi_objects>)
set_target_properties(sparsecoll_mpi_static PROPERTIES OUTPUT_NAME sparsecoll_mpi
                                                       EXPORT_NAME mpi_static)
target_link_libraries(sparsecoll_mpi_static PUBLIC sparsecoll_static MPI::MPI_C)
add_library(sparsecoll::mpi_static ALIAS sparsecoll_mpi_static)

if(NOT BUILD_SHARED_LIBS)
  add_library(sparsecoll::mpi ALIAS sparsecoll_mpi_static)
  return()
endif()

add_library(sparsecoll_mpi SHARED $<TARGET_OBJECTS:sparsecoll_mpi_objects>)
sparsecoll_set_exports(sparsecoll_mpi)
# It finds libsparsecoll.so beside itself.
set_target_properties(sparsecoll_mpi PROPERTIES EXPORT_NAME mpi LINKER_LANGUAGE CXX
                                                INSTALL_RPATH "$ORIGIN")
target_link_libraries(sparsecoll_mpi PUBLIC sparsecoll MPI::MPI_C)
if(NOT SPARSECOLL_SANITIZE)
  # What libsparsecoll.so does not export is an error here, not when a program starts.
  target_link_options(sparsecoll_mpi PRIVATE LINKER:--no-undefined)
endif()
add_library(sparsecoll::mpi ALIAS sparsecoll_mpi)
