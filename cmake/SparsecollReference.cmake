# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# Adds the target `docs` if doxygen is installed: the reference of the public headers as HTML. The
# test checks.doxygen also makes the reference, and fails on errors.

find_program(SPARSECOLL_DOXYGEN doxygen DOC "Makes the reference of the API")
if(SPARSECOLL_DOXYGEN)
  set(doxyfile "${PROJECT_BINARY_DIR}/Doxyfile")
  configure_file(docs/Doxyfile.in "${doxyfile}" @ONLY)
  set(SPARSECOLL_DOXYGEN_COMMAND "${SPARSECOLL_DOXYGEN}" "${doxyfile}")
  add_custom_target(docs COMMAND ${SPARSECOLL_DOXYGEN_COMMAND} VERBATIM
                    COMMENT "Reference: ${PROJECT_BINARY_DIR}/reference/html/index.html")
endif()
