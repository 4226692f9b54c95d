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
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES "80-real;90-real;100"
          CACHE STRING "GPUs to compile for: machine code of 8.0 and 9.0, of 10.0 with PTX for later")
    endif()
    enable_language(CUDA)
    find_package(CUDAToolkit)
    if(TARGET CUDA::cudart_static)
      set(SPARSECOLL_HAVE_CUDA ON)
    elseif(SPARSECOLL_CUDA STREQUAL "ON")
      message(FATAL_ERROR "SPARSECOLL_CUDA=ON, but there is an nvcc without its libraries")
    endif()
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

# The host's rules of floating-point arithmetic: results are equal bit for bit.
if(SPARSECOLL_HAVE_CUDA)
  set(sparsecoll_cuda_flags -fmad=false -ftz=false -prec-div=true -prec-sqrt=true
                            --expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra)
  if(SPARSECOLL_WERROR)
    list(APPEND sparsecoll_cuda_flags -Werror=all-warnings -Xcompiler=-Werror)
  endif()
  add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:${sparsecoll_cuda_flags}>")
endif()
