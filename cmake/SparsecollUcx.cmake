# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# Sets SPARSECOLL_HAVE_UCX from SPARSECOLL_UCX (AUTO, ON, OFF), and makes the target UCX::headers. With
# AUTO a missing UCX does not end the configuration, which continues without it and prints the reason.

if(NOT SPARSECOLL_UCX MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "SPARSECOLL_UCX is '${SPARSECOLL_UCX}'; it can be AUTO, ON or OFF")
endif()

set(SPARSECOLL_HAVE_UCX OFF)
set(sparsecoll_no_ucx "SPARSECOLL_UCX=OFF")
if(NOT SPARSECOLL_UCX STREQUAL "OFF")
  find_package(UCX 1.13 QUIET)
  if(UCX_FOUND)
    set(SPARSECOLL_HAVE_UCX ON)
  elseif(UCX_VERSION)
    set(sparsecoll_no_ucx "${UCX_INCLUDE_DIR} has version ${UCX_VERSION}; it needs 1.13 or later")
  else()
    set(sparsecoll_no_ucx "no ucp/api/ucp.h found: UCX_ROOT, the system (Debian: libucx-dev)")
  endif()
endif()

if(SPARSECOLL_HAVE_UCX)
  message(STATUS "UCX: yes (${UCX_INCLUDE_DIR}/ucp/api/ucp.h ${UCX_VERSION})")
elseif(SPARSECOLL_UCX STREQUAL "ON")
  message(FATAL_ERROR "SPARSECOLL_UCX=ON, but: ${sparsecoll_no_ucx}")
else()
  message(STATUS "UCX: no (${sparsecoll_no_ucx})")
endif()
