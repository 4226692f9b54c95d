# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# `docs`: the reference of the public headers as HTML, where doxygen is there. The test
# checks.doxygen makes it too, for its errors.

find_program(SPARSECOLL_DOXYGEN doxygen DOC "Makes the reference of the API")
if(SPARSECOLL_DOXYGEN)
  set(doxyfile "${PROJECT_BINARY_DIR}/Doxyfile")
  configure_file(docs/Doxyfile.in "${doxyfile}" @ONLY)
  set(SPARSECOLL_DOXYGEN_COMMAND "${SPARSECOLL_DOXYGEN}" "${doxyfile}")
  add_custom_target(docs COMMAND ${SPARSECOLL_DOXYGEN_COMMAND} VERBATIM
                    COMMENT "Reference: ${PROJECT_BINARY_DIR}/reference/html/index.html")
endif()
