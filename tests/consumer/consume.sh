#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# consume.sh cmake|pkgconfig shared|static BUILD_DIR
# Installs BUILD_DIR, moves the installation, builds the programs of project/ against it, and runs them.
# Environment: CMAKE, CC, CXX, MPICC, PKG_CONFIG, LAUNCHER (mpirun with its flags for two ranks; empty
# without MPI), FC (empty without a Fortran module), MPIFC.
set -euo pipefail

tool=$1 kind=$2 build_dir=$3
project=$(cd "$(dirname "$0")/project" && pwd)
: "${CMAKE:=cmake}" "${CC:=cc}" "${CXX:=c++}" "${MPICC:=mpicc}" "${PKG_CONFIG:=pkg-config}" "${LAUNCHER:=}"
: "${FC:=}" "${MPIFC:=mpifort}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$CMAKE" --install "$build_dir" --prefix "$work/first" >"$work/install.log" ||
  { cat "$work/install.log"; exit 1; }
mv "$work/first" "$work/prefix"
prefix=$work/prefix
mkdir "$work/build"

build_with_cmake() {
  "$CMAKE" -S "$project" -B "$work/build" -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" \
    -DCMAKE_PREFIX_PATH="$prefix" -DLIBRARY_KIND="$kind" -DWITH_MPI="${LAUNCHER:+ON}" \
    -DWITH_FORTRAN="${FC:+ON}" ${FC:+"-DCMAKE_Fortran_COMPILER=$FC"} \
    ${FC:+${LAUNCHER:+"-DMPI_Fortran_COMPILER=$MPIFC"}}
  "$CMAKE" --build "$work/build" --verbose
}

# Compiles each program with one command, without CMake.
build_with_pkgconfig() {
  local file flags libs
  file=$(find "$prefix" -name sparsecoll.pc)
  export PKG_CONFIG_PATH=${file%/*}
  flags=$("$PKG_CONFIG" --cflags sparsecoll)
  if [ "$kind" = shared ]; then
    libs="$("$PKG_CONFIG" --libs sparsecoll) -Wl,-rpath,$("$PKG_CONFIG" --variable=libdir sparsecoll)"
  else
    libs=$("$PKG_CONFIG" --static --libs sparsecoll)
    libs=${libs/-lsparsecoll/-l:libsparsecoll.a}
  fi
  # shellcheck disable=SC2086 # lists of flags
  "$CC" -std=c99 $flags "$project/threads.c" -o "$work/build/threads" $libs -pthread
  # shellcheck disable=SC2086
  "$CXX" -std=c++17 $flags "$project/owners.cpp" -o "$work/build/owners" $libs -pthread
  if [ -n "$LAUNCHER" ]; then
    # shellcheck disable=SC2086
    OMPI_CC=$CC MPICH_CC=$CC "$MPICC" -std=c99 $flags "$project/processes.c" \
      -o "$work/build/processes" $libs
  fi
  [ -z "$FC" ] || build_fortran_with_pkgconfig
}

build_fortran_with_pkgconfig() {
  local flags libs
  flags=$("$PKG_CONFIG" --cflags sparsecoll-fortran)
  libs=$("$PKG_CONFIG" --static --libs sparsecoll-fortran)
  if [ "$kind" = shared ]; then
    libs="$libs -Wl,-rpath,$("$PKG_CONFIG" --variable=libdir sparsecoll)"
  else
    libs=${libs/-lsparsecoll /-l:libsparsecoll.a }
  fi
  # shellcheck disable=SC2086 # lists of flags
  "$FC" $flags "$project/threads.f90" -o "$work/build/fortran_threads" $libs
  if [ -n "$LAUNCHER" ]; then
    # shellcheck disable=SC2086
    OMPI_FC=$FC MPICH_FC=$FC "$MPIFC" $flags "$project/processes.f90" \
      -o "$work/build/fortran_processes" $libs
  fi
}

"build_with_$tool"
"$work/build/threads"
"$work/build/owners"
if [ -n "$LAUNCHER" ]; then
  # shellcheck disable=SC2086
  timeout -k 5 60 $LAUNCHER "$work/build/processes"
fi
if [ -n "$FC" ]; then
  "$work/build/fortran_threads"
  # shellcheck disable=SC2086
  [ -z "$LAUNCHER" ] || timeout -k 5 60 $LAUNCHER "$work/build/fortran_processes"
fi
