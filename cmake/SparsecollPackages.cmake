# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# Debian packages by CPack (docs/packages.md). Each install component is in one package; scripts/
# make-packages.sh builds them with the paths of Debian.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME sparsecoll)
set(CPACK_PACKAGE_VENDOR "The sparsecoll authors")
# CPack's default, which it does not put in front of the packages' own descriptions.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${CMAKE_PROJECT_NAME} built using CMake")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)

# Tools of Debian find the maintainer in the same variables.
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The sparsecoll authors <sparsecoll@localhost.localdomain>")
if(DEFINED ENV{DEBFULLNAME} AND DEFINED ENV{DEBEMAIL})
  set(CPACK_DEBIAN_PACKAGE_MAINTAINER "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(package_version "${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")

set(CPACK_COMPONENTS_ALL)
# Copyright and changelog, which Debian wants in each package.
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/SparsecollPackageFiles.cmake")
set(CPACK_SPARSECOLL_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_SPARSECOLL_PACKAGES)

# sparsecoll_package(GROUP NAME package SECTION section COMPONENTS component... SUMMARY line
#                    DESCRIPTION text [LIBRARY] [ARCHITECTURE all] [DEPENDS ...] [RECOMMENDS ...] [SUGGESTS ...])
function(sparsecoll_package group)
  cmake_parse_arguments(arg "LIBRARY" "NAME;SECTION;SUMMARY;DESCRIPTION;ARCHITECTURE;DEPENDS;RECOMMENDS;SUGGESTS"
                        "COMPONENTS" ${ARGN})
  string(TOUPPER "${group}" upper)
  foreach(component IN LISTS arg_COMPONENTS)
    string(TOUPPER "${component}" part)
    list(APPEND CPACK_COMPONENTS_ALL ${component})
    set(CPACK_COMPONENT_${part}_GROUP ${group} PARENT_SCOPE)
  endforeach()
  set(CPACK_COMPONENTS_ALL "${CPACK_COMPONENTS_ALL}" PARENT_SCOPE)
  list(APPEND CPACK_SPARSECOLL_PACKAGES "${group}=${arg_NAME}")
  set(CPACK_SPARSECOLL_PACKAGES "${CPACK_SPARSECOLL_PACKAGES}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME "${arg_NAME}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION "${arg_SECTION}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${arg_SUMMARY}\n${arg_DESCRIPTION}" PARENT_SCOPE)
  foreach(field IN ITEMS ARCHITECTURE DEPENDS RECOMMENDS SUGGESTS)
    if(arg_${field})
      set(CPACK_DEBIAN_${upper}_PACKAGE_${field} "${arg_${field}}" PARENT_SCOPE)
    endif()
  endforeach()
  if(arg_LIBRARY)
    set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA "${PROJECT_SOURCE_DIR}/cmake/debian/triggers" PARENT_SCOPE)
  endif()
  if(NOT arg_ARCHITECTURE)
    set(CPACK_DEBIAN_${upper}_PACKAGE_SHLIBDEPS ON PARENT_SCOPE)
  endif()
endfunction()
# libsparsecoll_mpi.so needs libsparsecoll.so, of which no installed package knows.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}/src")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")

set(library_package libsparsecoll${PROJECT_VERSION_MAJOR})
set(mpi_package libsparsecoll-mpi${PROJECT_VERSION_MAJOR})
set(about "sparsecoll sums the largest entries of the gradients of many processes,\n\
with error feedback, where the network is too slow for a dense allreduce.\n\
It runs over MPI, UCX, NCCL and between threads.\n")

set(development development)
set(mpi_recommends)
set(development_depends "${library_package} (= ${package_version}), libhwloc-dev")
if(SPARSECOLL_MPI)
  set(mpi_recommends ", ${mpi_package} (= ${package_version})")
  list(APPEND development mpi_development)
  string(APPEND development_depends ", ${mpi_package} (= ${package_version})")
endif()

sparsecoll_package(
  runtime NAME ${library_package} SECTION libs LIBRARY COMPONENTS runtime
  SUMMARY "sparse collectives for slow networks - library"
  DESCRIPTION "${about}.\nThis package has the shared library."
  RECOMMENDS "libucx0" SUGGESTS "sparsecoll-tools")
if(SPARSECOLL_MPI)
  sparsecoll_package(
    mpi NAME ${mpi_package} SECTION libs LIBRARY COMPONENTS mpi
    SUMMARY "sparse collectives for slow networks - library for MPI"
    DESCRIPTION "${about}.\nThis package has the shared library of communicators over MPI."
    DEPENDS "${library_package} (= ${package_version})")
endif()
sparsecoll_package(
  development NAME libsparsecoll-dev SECTION libdevel COMPONENTS ${development}
  SUMMARY "sparse collectives for slow networks - development files"
  DESCRIPTION "${about}.\nThis package has headers, the static libraries, the Fortran module, and\nfiles for CMake and pkg-config."
  DEPENDS "${development_depends}" RECOMMENDS "pkg-config" SUGGESTS "sparsecoll-doc, libopenmpi-dev")
sparsecoll_package(
  tools NAME sparsecoll-tools SECTION utils COMPONENTS tools
  SUMMARY "sparse collectives for slow networks - programs"
  DESCRIPTION "${about}.\nThis package has sparsecoll-info, sparsecoll-blame, sparsecoll-tune, the\nprograms that measure the library, and scripts that draw timelines and results."
  RECOMMENDS "python3, libucx0" SUGGESTS "python3-matplotlib, ${library_package}")
sparsecoll_package(
  documentation NAME sparsecoll-doc SECTION doc ARCHITECTURE all COMPONENTS documentation
  SUMMARY "sparse collectives for slow networks - documentation"
  DESCRIPTION "${about}.\nThis package has the pages of the documentation and the examples.")

include(CPack)
