# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# Turns SPARSECOLL_CUDA (AUTO, ON, OFF) into SPARSECOLL_HAVE_CUDA and enables the language.

if(NOT SPARSECOLL_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "SPARSECOLL_CUDA is '${SPARSECOLL_CUDA}'; it can be AUTO, ON or OFF")
endif()

set(SPARSECOLL_HAVE_CUDA OFF)
if(NOT SPARSECOLL_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    set(SPARSECOLL_HAVE_CUDA ON)
    # CMake 3.25 does not know yet that nvcc has C++20.
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    set(CMAKE_CUDA_EXTENSIONS OFF)
  elseif(SPARSECOLL_CUDA STREQUAL "ON")
    message(FATAL_ERROR "SPARSECOLL_CUDA=ON, but there is no working nvcc (PATH, CUDACXX)")
  endif()
endif()
