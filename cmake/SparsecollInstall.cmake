# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs headers, libraries, the config package and the pkg-config file. The shared and the static
# library have export sets of their own, because only users of the static one need MPI and threads.

include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/sparsecoll")
set(public_headers include/sparsecoll/sparsecoll.h include/sparsecoll/sparsecoll.hpp)
if(SPARSECOLL_MPI)
  list(APPEND public_headers include/sparsecoll/sparsecoll_mpi.h
       include/sparsecoll/sparsecoll_mpi.hpp)
endif()
install(FILES ${public_headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/sparsecoll")
install(DIRECTORY include/sparsecoll/cxx DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/sparsecoll")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(PROGRAMS tools/sparsecoll-blame DESTINATION "${CMAKE_INSTALL_BINDIR}")

# The C++ runtime, which a C compiler does not link by itself.
set(cxx_runtime ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
list(REMOVE_DUPLICATES cxx_runtime)
list(REMOVE_ITEM cxx_runtime ${CMAKE_C_IMPLICIT_LINK_LIBRARIES})
# The prefix -l keeps CMake from taking a name for a target of an enclosing project.
list(TRANSFORM cxx_runtime PREPEND -l)
target_link_libraries(sparsecoll_static INTERFACE "$<INSTALL_INTERFACE:${cxx_runtime}>")

install(TARGETS sparsecoll_static EXPORT sparsecollStaticTargets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT sparsecollStaticTargets NAMESPACE sparsecoll:: DESTINATION "${package_dir}")
if(BUILD_SHARED_LIBS)
  install(TARGETS sparsecoll EXPORT sparsecollSharedTargets
          LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT sparsecollSharedTargets NAMESPACE sparsecoll:: DESTINATION "${package_dir}")
endif()

# The wheel of Python installs only this component (pyproject.toml).
if(SKBUILD)
  install(FILES "$<TARGET_FILE:sparsecoll>" DESTINATION sparsecoll RENAME libsparsecoll.so
          COMPONENT python)
endif()

if(SPARSECOLL_FORTRAN)
  install(TARGETS sparsecoll_fortran EXPORT sparsecollFortranTargets
          ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT sparsecollFortranTargets NAMESPACE sparsecoll:: DESTINATION "${package_dir}")
  install(DIRECTORY "${sparsecoll_fortran_modules}/"
          DESTINATION "${SPARSECOLL_FORTRAN_INSTALL_DIR}" FILES_MATCHING PATTERN "*.mod")
endif()

configure_package_config_file(
  cmake/sparsecollConfig.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/sparsecollConfig.cmake"
  INSTALL_DESTINATION "${package_dir}"
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(
  "${CMAKE_CURRENT_BINARY_DIR}/sparsecollConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/sparsecollConfig.cmake"
              "${CMAKE_CURRENT_BINARY_DIR}/sparsecollConfigVersion.cmake"
        DESTINATION "${package_dir}")
if(SPARSECOLL_HWLOC)
  install(FILES cmake/FindHwloc.cmake DESTINATION "${package_dir}")
endif()

include(SparsecollPkgConfig)
