#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# consume.sh cmake|pkgconfig shared|static plain|mpi BUILD_DIR|--installed PREFIX
# Installs BUILD_DIR, moves the installation, builds the programs of project/ against it, and runs them.
# plain: an installation without the components for MPI, and programs that must not need MPI.
# --installed PREFIX: what is installed there already, from packages for example.
# Environment: CMAKE, CC, CXX, PKG_CONFIG, READELF, FC (empty without a Fortran module); for mpi MPICC,
# MPIFC, LAUNCHER (mpirun with its flags for two ranks).
set -euo pipefail

tool=$1 kind=$2 part=$3 build_dir=$4
project=$(cd "$(dirname "$0")/project" && pwd)
: "${CMAKE:=cmake}" "${CC:=cc}" "${CXX:=c++}" "${MPICC:=mpicc}" "${PKG_CONFIG:=pkg-config}" "${LAUNCHER:=}"
: "${FC:=}" "${MPIFC:=mpifort}" "${READELF:=readelf}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
components=(runtime development)
[ "$part" = plain ] || components+=(mpi mpi_development)
if [ "$build_dir" = --installed ]; then
  prefix=$5
else
  for component in "${components[@]}"; do
    "$CMAKE" --install "$build_dir" --prefix "$work/first" --component "$component" >>"$work/install.log" ||
      { cat "$work/install.log"; exit 1; }
  done
  mv "$work/first" "$work/prefix"
  prefix=$work/prefix
fi
mkdir "$work/build"

check_installation() {
  local library
  if [ "$part" = plain ] && [ "$build_dir" != --installed ] && find "$prefix" -iname '*mpi*' ! -name '*.mod' | grep .; then
    echo "files for MPI outside its components"
    return 1
  fi
  [ "$kind" = shared ] || return 0
  library=$(find "$prefix" -name libsparsecoll.so)
  if "$READELF" -d "$library" | grep -i 'needed.*mpi'; then
    echo "$library needs MPI"
    return 1
  fi
}

build_with_cmake() {
  local mpi='' no_mpi=ON
  [ "$part" = plain ] || mpi=ON no_mpi=OFF
  # In the plain part a call of find_package(MPI) finds none.
  "$CMAKE" -S "$project" -B "$work/build" -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" \
    -DCMAKE_PREFIX_PATH="$prefix" -DLIBRARY_KIND="$kind" -DWITH_MPI="$mpi" \
    -DWITH_FORTRAN="${FC:+ON}" ${FC:+"-DCMAKE_Fortran_COMPILER=$FC"} \
    ${FC:+${mpi:+"-DMPI_Fortran_COMPILER=$MPIFC"}} -DCMAKE_DISABLE_FIND_PACKAGE_MPI="$no_mpi"
  "$CMAKE" --build "$work/build" --verbose
}

# Prints the flags that link these packages, for the library of this kind.
libs_of() {
  if [ "$kind" = shared ]; then
    "$PKG_CONFIG" --libs "$@"
    echo "-Wl,-rpath,$("$PKG_CONFIG" --variable=libdir sparsecoll)"
  else
    "$PKG_CONFIG" --static --libs "$@" | sed -E 's/-l(sparsecoll(_mpi)?)\b/-l:lib\1.a/g'
  fi
}

# Compiles each program with one command, without CMake.
# shellcheck disable=SC2046,SC2086 # lists of flags
build_with_pkgconfig() {
  local file flags
  file=$(find "$prefix" -name sparsecoll.pc)
  export PKG_CONFIG_PATH=${file%/*}
  flags=$("$PKG_CONFIG" --cflags sparsecoll)
  if [ "$part" = plain ]; then
    "$CC" -std=c99 $flags "$project/threads.c" -o "$work/build/threads" $(libs_of sparsecoll) -pthread
    "$CC" -std=c99 $flags "$project/no_mpi.c" -o "$work/build/no_mpi" $(libs_of sparsecoll)
    "$CXX" -std=c++17 $flags "$project/owners.cpp" -o "$work/build/owners" $(libs_of sparsecoll) -pthread
  else
    "$CC" -std=c99 $("$PKG_CONFIG" --cflags sparsecoll-mpi) "$project/processes.c" \
      -o "$work/build/processes" $(libs_of sparsecoll-mpi)
    # The shared library loads that of MPI.
    OMPI_CC=$CC MPICH_CC=$CC "$MPICC" -std=c99 -DFORTRAN_FORM $flags "$project/processes.c" \
      -o "$work/build/processes_fint" \
      $(if [ "$kind" = shared ]; then libs_of sparsecoll; else libs_of sparsecoll-mpi; fi)
  fi
  [ -z "$FC" ] || build_fortran_with_pkgconfig
}

# shellcheck disable=SC2046,SC2086
build_fortran_with_pkgconfig() {
  local flags
  flags=$("$PKG_CONFIG" --cflags sparsecoll-fortran)
  if [ "$part" = plain ]; then
    "$FC" $flags "$project/threads.f90" -o "$work/build/fortran_threads" $(libs_of sparsecoll-fortran)
  else
    OMPI_FC=$FC MPICH_FC=$FC "$MPIFC" $flags "$project/processes.f90" -o "$work/build/fortran_processes" \
      $(if [ "$kind" = shared ]; then libs_of sparsecoll-fortran; else libs_of sparsecoll-fortran sparsecoll-mpi; fi)
  fi
}

check_installation
"build_with_$tool"
if [ "$part" = plain ]; then
  "$work/build/threads"
  "$work/build/owners"
  # It expects that there is no library for MPI, but a package may have brought one.
  if [ "$kind" = static ] || ! find "$prefix" -name 'libsparsecoll_mpi.so.*' | grep -q .; then
    "$work/build/no_mpi" "$kind"
  fi
  [ -z "$FC" ] || "$work/build/fortran_threads"
else
  for program in processes processes_fint ${FC:+fortran_processes}; do
    # shellcheck disable=SC2086
    timeout -k 5 60 $LAUNCHER "$work/build/$program"
  done
fi
