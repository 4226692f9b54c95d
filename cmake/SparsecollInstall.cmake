# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs headers, libraries, the config package and the pkg-config files. The libraries have export
# sets of their own: only users of the static ones need threads, and only users of those for MPI need
# MPI. docs/packages.md lists the install components. What is for MPI has components of its own, which
# packages can leave out.

include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/sparsecoll")
install(FILES include/sparsecoll/sparsecoll.h include/sparsecoll/sparsecoll.hpp
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/sparsecoll" COMPONENT development)
install(DIRECTORY include/sparsecoll/cxx DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/sparsecoll"
        COMPONENT development)
# In Debian's packages another file has the licence.
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT license)
sparsecoll_install_script(tools/sparsecoll-blame)
if(PROJECT_IS_TOP_LEVEL)
  # The environment module (docs/packages.md). Packages of Debian have none: their paths are the system's.
  set(modules "${CMAKE_INSTALL_DATADIR}/modulefiles/sparsecoll")
  file(RELATIVE_PATH MODULE_PREFIX "/prefix/${modules}" "/prefix")
  configure_file(cmake/modulefile.in "${CMAKE_CURRENT_BINARY_DIR}/modulefile" @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/modulefile" DESTINATION "${modules}" RENAME ${PROJECT_VERSION}
          COMPONENT modulefile)
  install(PROGRAMS perf/launch perf/plot.py perf/timeline.py
          DESTINATION "${CMAKE_INSTALL_DATADIR}/sparsecoll/perf" COMPONENT tools)
  install(DIRECTORY perf/plots DESTINATION "${CMAKE_INSTALL_DATADIR}/sparsecoll/perf" COMPONENT tools
          FILES_MATCHING PATTERN "*.py")
  install(FILES README.md DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT documentation)
  install(FILES perf/README.md DESTINATION "${CMAKE_INSTALL_DOCDIR}/perf" COMPONENT documentation)
  # The pages link to these.
  install(DIRECTORY perf/results perf/tensors DESTINATION "${CMAKE_INSTALL_DOCDIR}/perf" COMPONENT documentation)
  install(FILES include/sparsecoll/sparsecoll.h DESTINATION "${CMAKE_INSTALL_DOCDIR}/include/sparsecoll"
          COMPONENT documentation)
  install(DIRECTORY docs DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT documentation
          PATTERN "*.in" EXCLUDE
          PATTERN "*.dox" EXCLUDE
          PATTERN "__pycache__" EXCLUDE)
endif()

# The C++ runtime, which a C compiler does not link by itself.
set(cxx_runtime ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
list(REMOVE_DUPLICATES cxx_runtime)
list(REMOVE_ITEM cxx_runtime ${CMAKE_C_IMPLICIT_LINK_LIBRARIES})
# The prefix -l keeps CMake from taking a name for a target of an enclosing project.
list(TRANSFORM cxx_runtime PREPEND -l)
target_link_libraries(sparsecoll_static INTERFACE "$<INSTALL_INTERFACE:${cxx_runtime}>")

# sparsecoll_install_library(target export runtime development): the last two are the components of
# a shared library, and of all that is needed to link one.
function(sparsecoll_install_library target export runtime development)
  install(TARGETS ${target} EXPORT ${export}
          ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${development}
          LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${runtime}
                  NAMELINK_COMPONENT ${development})
  install(EXPORT ${export} NAMESPACE sparsecoll:: DESTINATION "${package_dir}" COMPONENT ${development})
endfunction()

sparsecoll_install_library(sparsecoll_static sparsecollStaticTargets runtime development)
if(BUILD_SHARED_LIBS)
  sparsecoll_install_library(sparsecoll sparsecollSharedTargets runtime development)
endif()
if(SPARSECOLL_MPI)
  install(FILES include/sparsecoll/sparsecoll_mpi.h include/sparsecoll/sparsecoll_mpi.hpp
          DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/sparsecoll" COMPONENT mpi_development)
  sparsecoll_install_library(sparsecoll_mpi_static sparsecollMpiStaticTargets mpi mpi_development)
  if(BUILD_SHARED_LIBS)
    sparsecoll_install_library(sparsecoll_mpi sparsecollMpiSharedTargets mpi mpi_development)
  endif()
endif()

# The wheel of Python builds this target and installs this component (pyproject.toml). It holds no
# links: libsparsecoll.so has the name that Python looks for, the library for MPI the name that
# libsparsecoll.so looks for.
if(SKBUILD)
  add_custom_target(sparsecoll_wheel DEPENDS sparsecoll)
  install(FILES "$<TARGET_FILE:sparsecoll>" DESTINATION sparsecoll RENAME libsparsecoll.so
          COMPONENT python)
  if(SPARSECOLL_MPI)
    add_dependencies(sparsecoll_wheel sparsecoll_mpi)
    install(FILES "$<TARGET_FILE:sparsecoll_mpi>" DESTINATION sparsecoll
            RENAME "$<TARGET_SONAME_FILE_NAME:sparsecoll_mpi>" COMPONENT python)
  endif()
endif()

if(SPARSECOLL_FORTRAN)
  install(TARGETS sparsecoll_fortran EXPORT sparsecollFortranTargets
          ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
  install(EXPORT sparsecollFortranTargets NAMESPACE sparsecoll:: DESTINATION "${package_dir}"
          COMPONENT development)
  install(DIRECTORY "${sparsecoll_fortran_modules}/" DESTINATION "${SPARSECOLL_FORTRAN_INSTALL_DIR}"
          COMPONENT development FILES_MATCHING PATTERN "*.mod")
endif()

configure_package_config_file(
  cmake/sparsecollConfig.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/sparsecollConfig.cmake"
  INSTALL_DESTINATION "${package_dir}"
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(
  "${CMAKE_CURRENT_BINARY_DIR}/sparsecollConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/sparsecollConfig.cmake"
              "${CMAKE_CURRENT_BINARY_DIR}/sparsecollConfigVersion.cmake"
        DESTINATION "${package_dir}" COMPONENT development)
if(SPARSECOLL_HWLOC)
  install(FILES cmake/FindHwloc.cmake DESTINATION "${package_dir}" COMPONENT development)
endif()

include(SparsecollPkgConfig)
if(PROJECT_IS_TOP_LEVEL AND BUILD_SHARED_LIBS)
  include(SparsecollPackages)
endif()
