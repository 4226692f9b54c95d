# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# Sets SPARSECOLL_HAVE_CUDA from SPARSECOLL_CUDA (AUTO, ON, OFF), and enables the language. With
# AUTO a missing or broken toolkit does not end the configuration, which continues without CUDA and
# prints the reason.

if(NOT SPARSECOLL_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "SPARSECOLL_CUDA is '${SPARSECOLL_CUDA}'; it can be AUTO, ON or OFF")
endif()

# sparsecoll_find_nvcc(problem): sets CMAKE_CUDA_COMPILER, or else `problem` to the reason.
function(sparsecoll_find_nvcc problem)
  # A compiler may have been installed since the last search.
  if(DEFINED CMAKE_CUDA_COMPILER AND NOT CMAKE_CUDA_COMPILER)
    unset(CMAKE_CUDA_COMPILER CACHE)
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(${problem} "" PARENT_SCOPE)
    return()
  endif()
  find_program(found NAMES "$ENV{CUDACXX}" nvcc PATHS ENV CUDA_PATH PATH_SUFFIXES bin NO_CACHE)
  if(found)
    set(${problem} "${found} is there, but cannot compile: see CMakeFiles/CMakeError.log or \
CMakeConfigureLog.yaml in the build folder" PARENT_SCOPE)
  else()
    set(${problem} "no nvcc found: PATH, CUDACXX, -DCMAKE_CUDA_COMPILER" PARENT_SCOPE)
  endif()
endfunction()

# sparsecoll_choose_architectures(chosen problem): sets `chosen` to the architectures to compile
# for, or `problem` to the reason why there are none. Default architectures that this nvcc does not
# support are left out; architectures that the user asked for must be supported.
function(sparsecoll_choose_architectures chosen problem)
  execute_process(COMMAND "${CMAKE_CUDA_COMPILER}" --list-gpu-arch OUTPUT_VARIABLE known ERROR_QUIET)
  string(REGEX MATCHALL "compute_[0-9]+" known "${known}")
  if(NOT known)
    set(${problem} "${CMAKE_CUDA_COMPILER} --list-gpu-arch lists none: no nvcc, or a broken one"
        PARENT_SCOPE)
    return()
  endif()
  set(asked ${CMAKE_CUDA_ARCHITECTURES})
  if(NOT asked)
    set(asked $ENV{CUDAARCHS})
  endif()
  set(wanted "80-real" "90-real" "100")
  if(asked)
    set(wanted ${asked})
  endif()
  set(kept)
  set(unknown)
  foreach(architecture IN LISTS wanted)
    # CMake resolves all, native and similar words.
    string(REGEX MATCH "^[0-9]+" number "${architecture}")
    if(number AND NOT "compute_${number}" IN_LIST known)
      list(APPEND unknown ${architecture})
    else()
      list(APPEND kept ${architecture})
    endif()
  endforeach()
  set(${problem} "" PARENT_SCOPE)
  if(unknown AND (asked OR NOT kept))
    set(${problem} "${CMAKE_CUDA_COMPILER} does not know the architectures ${unknown}" PARENT_SCOPE)
  endif()
  # If the newest one is left out, the last remaining one includes the PTX for later GPUs.
  if(unknown AND kept)
    list(TRANSFORM kept REPLACE "-real$" "" AT -1)
  endif()
  set(${chosen} "${kept}" PARENT_SCOPE)
endfunction()

set(SPARSECOLL_HAVE_CUDA OFF)
set(sparsecoll_no_cuda "SPARSECOLL_CUDA=OFF")
if(NOT SPARSECOLL_CUDA STREQUAL "OFF")
  sparsecoll_find_nvcc(sparsecoll_no_cuda)
  if(NOT sparsecoll_no_cuda)
    sparsecoll_choose_architectures(sparsecoll_architectures sparsecoll_no_cuda)
  endif()
  if(NOT sparsecoll_no_cuda)
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      # The cache belongs to the top-level project, which may be another one.
      if(PROJECT_IS_TOP_LEVEL)
        set(CMAKE_CUDA_ARCHITECTURES "${sparsecoll_architectures}"
            CACHE STRING "GPUs to compile for; without -real or -virtual: with PTX for later ones")
      else()
        set(CMAKE_CUDA_ARCHITECTURES "${sparsecoll_architectures}")
      endif()
    endif()
    enable_language(CUDA)
    find_package(CUDAToolkit)
    if(NOT CMAKE_CUDA_COMPILER_ID STREQUAL "NVIDIA")
      set(sparsecoll_no_cuda "${CMAKE_CUDA_COMPILER} is not nvcc")
    elseif(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.0)
      set(sparsecoll_no_cuda
          "nvcc ${CMAKE_CUDA_COMPILER_VERSION} has no C++20; it needs 12.0 or later")
    elseif(NOT TARGET CUDA::cudart_static)
      set(sparsecoll_no_cuda "${CMAKE_CUDA_COMPILER} has no libcudart_static.a beside it")
    else()
      set(SPARSECOLL_HAVE_CUDA ON)
    endif()
  endif()
endif()

if(NOT SPARSECOLL_HAVE_CUDA)
  if(SPARSECOLL_CUDA STREQUAL "ON")
    message(FATAL_ERROR "SPARSECOLL_CUDA=ON, but: ${sparsecoll_no_cuda}")
  endif()
  message(STATUS "CUDA: no (${sparsecoll_no_cuda})")
  return()
endif()

string(REGEX REPLACE "([0-9]+)([0-9][af]?)(-real|-virtual)?" "\\1.\\2" capabilities
                     "${CMAKE_CUDA_ARCHITECTURES}")
list(JOIN capabilities " " capabilities)
message(STATUS "CUDA: yes (${capabilities}), nvcc ${CMAKE_CUDA_COMPILER_VERSION}")

# CMake 3.25 does not know that nvcc supports C++20.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)

# Floating-point rules that give the same bits as the host.
set(sparsecoll_cuda_flags -fmad=false -ftz=false -prec-div=true -prec-sqrt=true
                          --expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra)
if(SPARSECOLL_WERROR)
  list(APPEND sparsecoll_cuda_flags -Werror=all-warnings -Xcompiler=-Werror)
endif()
add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:${sparsecoll_cuda_flags}>")
