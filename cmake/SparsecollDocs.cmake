# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# SPARSECOLL_DOCS: with Doxygen and Python the target `docs`, a part of `all`, makes the reference of the
# public headers as HTML, and manual pages of all functions, types and programs. The test checks.doxygen
# makes the reference again, and fails on warnings, which depend on Doxygen's version.

set(SPARSECOLL_DOCS AUTO CACHE STRING "Manual pages and the HTML reference: AUTO (with Doxygen and Python), ON, OFF")
set_property(CACHE SPARSECOLL_DOCS PROPERTY STRINGS AUTO ON OFF)
set(SPARSECOLL_HAVE_DOCS OFF)
# The help of programs is read from the programs. With a sanitizer they may need settings to run.
if(PROJECT_IS_TOP_LEVEL AND SPARSECOLL_DOCS AND NOT CMAKE_CROSSCOMPILING AND NOT SPARSECOLL_SANITIZE)
  find_program(SPARSECOLL_DOXYGEN doxygen DOC "Makes the reference of the API")
  find_package(Python3 QUIET COMPONENTS Interpreter)
  if(SPARSECOLL_DOXYGEN AND Python3_Interpreter_FOUND)
    set(SPARSECOLL_HAVE_DOCS ON)
  elseif(NOT SPARSECOLL_DOCS STREQUAL AUTO)
    message(FATAL_ERROR "SPARSECOLL_DOCS=ON needs doxygen and Python 3")
  endif()
endif()

set(SPARSECOLL_MANUAL_DIR "${PROJECT_BINARY_DIR}/manual")
set(manual_scripts "${PROJECT_SOURCE_DIR}/scripts/manual")

# sparsecoll_manual_page(name command): the page of a program, from what its --help writes.
function(sparsecoll_manual_page name command)
  if(SPARSECOLL_HAVE_DOCS)
    set(page "${SPARSECOLL_MANUAL_DIR}/man1/${name}.1")
    set(script "${PROJECT_SOURCE_DIR}/scripts/manual/programs.py")
    add_custom_command(
      OUTPUT "${page}" VERBATIM COMMENT "Manual page of ${name}"
      COMMAND "${Python3_EXECUTABLE}" -B "${script}" ${PROJECT_VERSION} "${page}" "${command}"
      DEPENDS "${command}" ${ARGN} "${script}" "${PROJECT_SOURCE_DIR}/scripts/manual/roff.py")
    add_custom_target(manual_${name} DEPENDS "${page}")
    add_dependencies(docs manual_${name})
    install(FILES "${page}" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT tools OPTIONAL)
    set_property(GLOBAL APPEND PROPERTY SPARSECOLL_PROGRAMS ${name})
  endif()
endfunction()

# sparsecoll_install_program(target): installs a program with its manual page.
function(sparsecoll_install_program target)
  install(TARGETS ${target} DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT tools)
  get_target_property(name ${target} OUTPUT_NAME)
  if(NOT name)
    set(name ${target})
  endif()
  sparsecoll_manual_page(${name} "$<TARGET_FILE:${target}>" ${target})
endfunction()

# sparsecoll_install_script(path): the same for a script of the repository.
function(sparsecoll_install_script path)
  install(PROGRAMS "${path}" DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT tools)
  get_filename_component(name "${path}" NAME)
  sparsecoll_manual_page(${name} "${PROJECT_SOURCE_DIR}/${path}")
endfunction()

# sparsecoll_configure_doxygen(doxyfile folder on_warning)
function(sparsecoll_configure_doxygen doxyfile folder on_warning)
  configure_file("${PROJECT_SOURCE_DIR}/docs/Doxyfile.in" "${doxyfile}" @ONLY)
endfunction()

if(SPARSECOLL_HAVE_DOCS)
  set(reference "${PROJECT_BINARY_DIR}/reference")
  set(doxyfile "${PROJECT_BINARY_DIR}/Doxyfile")
  sparsecoll_configure_doxygen("${doxyfile}" "${reference}" NO)
  sparsecoll_configure_doxygen("${doxyfile}.checked" "${reference}/checked" FAIL_ON_WARNINGS)
  file(GLOB_RECURSE documented CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/*.h"
       "${PROJECT_SOURCE_DIR}/include/*.hpp")
  set(overview "${SPARSECOLL_MANUAL_DIR}/man7/sparsecoll.7")
  add_custom_command(
    OUTPUT "${reference}/xml/index.xml" VERBATIM COMMENT "Reference: ${reference}/html/index.html"
    COMMAND "${CMAKE_COMMAND}" -E rm -rf "${reference}"
    COMMAND "${SPARSECOLL_DOXYGEN}" "${doxyfile}"
    DEPENDS ${documented} "${doxyfile}" "${PROJECT_SOURCE_DIR}/docs/reference.dox")
  add_custom_command(
    OUTPUT "${overview}" VERBATIM COMMENT "Manual pages of the API"
    COMMAND "${CMAKE_COMMAND}" -E rm -rf "${SPARSECOLL_MANUAL_DIR}/man3"
    COMMAND "${Python3_EXECUTABLE}" -B "${manual_scripts}/functions.py" "${reference}/xml" ${PROJECT_VERSION}
            "${SPARSECOLL_MANUAL_DIR}"
    DEPENDS "${reference}/xml/index.xml" "${manual_scripts}/functions.py" "${manual_scripts}/roff.py")
  add_custom_target(docs ALL DEPENDS "${overview}")
  install(DIRECTORY "${SPARSECOLL_MANUAL_DIR}/man3" "${SPARSECOLL_MANUAL_DIR}/man7"
          DESTINATION "${CMAKE_INSTALL_MANDIR}" COMPONENT documentation OPTIONAL)
  install(DIRECTORY "${reference}/html" DESTINATION "${CMAKE_INSTALL_DOCDIR}/reference" COMPONENT documentation OPTIONAL)
endif()
