# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# Sets SPARSECOLL_HAVE_NCCL from SPARSECOLL_NCCL (AUTO, ON, OFF), and makes the target
# NCCL::headers. With AUTO a missing NCCL does not end the configuration, which continues without it
# and prints the reason.

if(NOT SPARSECOLL_NCCL MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "SPARSECOLL_NCCL is '${SPARSECOLL_NCCL}'; it can be AUTO, ON or OFF")
endif()

set(sparsecoll_oldest_nccl 2.28)
set(SPARSECOLL_HAVE_NCCL OFF)
set(sparsecoll_no_nccl "SPARSECOLL_NCCL=OFF")
if(NOT SPARSECOLL_NCCL STREQUAL "OFF")
  if(NOT SPARSECOLL_HAVE_CUDA)
    set(sparsecoll_no_nccl "it needs CUDA")
  else()
    find_package(NCCL ${sparsecoll_oldest_nccl} QUIET)
    if(NCCL_FOUND)
      set(SPARSECOLL_HAVE_NCCL ON)
    elseif(NCCL_VERSION)
      set(sparsecoll_no_nccl "${NCCL_INCLUDE_DIR}/nccl.h is version ${NCCL_VERSION}; it needs \
${sparsecoll_oldest_nccl} or later")
    elseif(NCCL_INCLUDE_DIR)
      set(sparsecoll_no_nccl "${NCCL_INCLUDE_DIR}/nccl.h tells no version")
    else()
      set(sparsecoll_no_nccl "no nccl.h found: NCCL_ROOT, the system, python3's nvidia.nccl")
    endif()
  endif()
endif()

if(SPARSECOLL_HAVE_NCCL)
  message(STATUS "NCCL: yes (${NCCL_INCLUDE_DIR}/nccl.h ${NCCL_VERSION})")
elseif(SPARSECOLL_NCCL STREQUAL "ON")
  message(FATAL_ERROR "SPARSECOLL_NCCL=ON, but: ${sparsecoll_no_nccl}")
else()
  message(STATUS "NCCL: no (${sparsecoll_no_nccl})")
endif()
