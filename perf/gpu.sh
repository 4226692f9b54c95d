#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# Packs all tests and benchmarks that need a GPU. A machine with nvcc builds the package; a machine
# with a GPU, which needs no compiler and no network, runs it.
usage="usage: perf/gpu.sh build [--jobs N] [--arch CC] [-DVARIABLE=VALUE...]
       perf/gpu.sh run [--help] [OPTION...] [FOLDER]
  build   builds tests and benchmarks in build/gpu-release, and packs them into build/gpu-package
    --jobs N      number of compiler processes (all cores)
    --arch CC     compute capabilities without the point, comma separated: 80, 90 (default), 100;
                  the package runs only on these
    -D...         further options for CMake
  run     runs the package by its run.sh; builds the package first if there is none
Examples:
  perf/gpu.sh build --arch 80,90
  perf/gpu.sh run --quick --only hello,tests"
set -euo pipefail

root=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
# shellcheck source=scripts/options.sh
. "$root/scripts/options.sh"
limit=$((64 << 20))  # bytes of a package

die() {
  echo "gpu.sh: $1" >&2
  exit "${2:-2}"
}

# need_value OPTION ARGUMENT...: checks that an argument follows the option.
need_value() {
  [ $# -gt 1 ] || die "$1 needs a value"
}

find_nvcc() {
  command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
  command -v nvcc >/dev/null || die "no nvcc on the path or in /usr/local/cuda" 1
}

# pack_headers FOLDER: the headers that the build needs, for machines without package installation.
pack_headers() {
  local package file
  command -v dpkg >/dev/null || return 0
  for package in nlohmann-json3-dev libcli11-dev catch2; do
    dpkg -L "$package" 2>/dev/null | grep -E '^/usr/(include|lib|share/(cmake|pkgconfig))/' || true
  done | while IFS= read -r file; do
    [ -f "$file" ] || continue
    install -D -m 644 "$file" "$1/${file#/usr/}"
  done
}

# pack_libraries PROGRAM FOLDER: the shared libraries of a program, and its loader.
pack_libraries() {
  local library
  ldd "$1" | grep -oE '/[^ ]+' | while IFS= read -r library; do
    cp -Lu "$library" "$2/"
  done
}

# pack_licences PACKAGE: the licences of other software in the package that this machine has. NOTICE
# lists all of that software.
pack_licences() {
  local package text
  cp "$root/LICENSE" "$root/perf/device/NOTICE" "$1/"
  for package in libcli11-dev nlohmann-json3-dev catch2 libc6 libstdc++6 libopenmpi3 libpmix2 libhwloc15 \
    libevent-core-2.1-7 libmunge2 zlib1g libudev1; do
    text=/usr/share/doc/$package/copyright
    if [ -f "$text" ]; then install -D -m 644 "$text" "$1/licences/$package"; fi
  done
}

# pack_nccl FOLDER PACKAGE: the NCCL whose header the build used, and its licence, if there is room.
# Else run.sh looks for NCCL on the machine where it runs.
pack_nccl() {
  local headers library licence size room
  headers=$(sed -n 's/^NCCL_INCLUDE_DIR:[A-Z]*=//p' "$1/CMakeCache.txt")
  if [ ! -f "$headers/nccl.h" ]; then
    echo "no NCCL in this build"
    return
  fi
  library=$(first_file "$headers"/../lib{,64,"/$(uname -m)-linux-gnu"}/libnccl.so.2)
  licence=$(first_file "$headers"/../LICENSE.txt /usr/share/doc/libnccl2/copyright \
    "$headers"/../../../nvidia_nccl*.dist-info/{,licenses/}[Ll][Ii][Cc][Ee][Nn]*)
  if [ -z "$library" ] || [ -z "$licence" ]; then
    echo "libnccl.so.2 or its licence was not found: the package is without it"
    return
  fi
  size=$(stat -L -c %s "$library")
  room=$((limit - $(du -sb "$2" | cut -f 1)))
  if [ "$size" -ge "$room" ]; then
    echo "no room for libnccl.so.2 ($((size >> 20)) MiB): the package is without it"
    return
  fi
  install -D "$library" "$2/nccl/libnccl.so.2"
  install -D -m 644 "$licence" "$2/licences/nccl"
}

# Returns 0 if this machine has Open MPI 4, which can be packed.
has_open_mpi() {
  local tool
  for tool in mpicc mpirun orted ompi_info; do command -v $tool >/dev/null || return 1; done
  [[ $(mpirun --version 2>/dev/null) == *"(Open MPI) 4."* ]]
}

# with_mpi FOLDER: returns 0 if that build has MPI.
with_mpi() {
  grep -q '^SPARSECOLL_MPI:BOOL=ON$' "$1/CMakeCache.txt"
}

open_mpi_path() {
  ompi_info --path "$1" --parsable | cut -d: -f3-
}

# pack_mpi PACKAGE: the files of Open MPI that mpirun needs on one machine, in the layout of its
# prefix. Plugins for network hardware and OpenSHMEM are left out, and so is the C library: that of
# the machine is used, or the one in lib.
pack_mpi() {
  local to=$1/mpi prefix plugins texts plugin others='lib(ucp|fabric|psm|ibverbs|rdmacm|oshmem|nl-3)'
  prefix=$(open_mpi_path prefix)
  plugins=$(open_mpi_path pkglibdir)
  texts=$(open_mpi_path pkgdatadir)
  for plugin in "$plugins"/*.so; do
    if [[ $(ldd "$plugin") =~ $others ]]; then continue; fi
    install -D -m 644 "$plugin" "$to/${plugin#"$prefix"/}"
  done
  mkdir -p "$to/bin" "$to/lib" "$to/${texts#"$prefix"/}"
  cp "$texts"/*.txt "$to/${texts#"$prefix"/}/"
  cp -L "$(command -v mpirun)" "$(command -v orted)" "$to/bin/"
  find "$to" -type f -name '*.so' -o -path "$to/bin/*" -type f | while IFS= read -r plugin; do
    pack_libraries "$plugin" "$to/lib"
  done
  for plugin in "$to"/lib/{ld-linux*,lib{c,m,dl,rt,util,pthread,resolv}.so.*}; do
    if [ -f "$plugin" ]; then mv "$plugin" "$1/lib/"; fi
  done
  for plugin in "$to"/lib/*; do rm -f "$1/lib/${plugin##*/}"; done
}

# first_file CANDIDATE...: prints the first one that exists, or nothing.
first_file() {
  local file
  for file in "$@"; do
    if [ -f "$file" ]; then
      printf '%s' "$file"
      return
    fi
  done
}

# write_manifest PACKAGE ARCHITECTURES: writes a file for sha256sum --check, which skips comments.
write_manifest() {
  {
    echo "# sparsecoll, tests and benchmarks for a GPU"
    echo "# source: $(git -C "$root" describe --always --dirty 2>/dev/null || echo unknown)"
    echo "# compute capability: $(sed -E 's/([0-9][af]?)(,|$)/.\1\2/g' <<<"$2")"
    echo "# compiler: $(nvcc --version | grep -o 'release.*'); $(ldd --version | head -n 1)"
    (cd "$1" && find . -type f ! -name MANIFEST -printf '%P\0' | LC_ALL=C sort -z | xargs -0 sha256sum)
  } >"$1/MANIFEST"
}

# configure_and_compile FOLDER JOBS ARCHITECTURES OPTION...
configure_and_compile() {
  local folder=$1 jobs=$2 architectures=${3//,/-real;}-real generator=() small=() mpi=OFF hwloc=OFF
  local targets=(test_gpu topk_perf verbs_perf) flags="-static-libstdc++ -static-libgcc -Wl,--as-needed"
  shift 3
  if pkg-config --exists hwloc 2>/dev/null; then hwloc=ON; fi
  if command -v ninja >/dev/null; then generator=(-G Ninja); fi
  # Every program contains all kernels. nvcc 12.8 and later can compress these to a tenth of the
  # size.
  if [[ $(nvcc --help) == *--compress-mode* ]]; then
    small=("-DCMAKE_CUDA_FLAGS=${CUDAFLAGS:-} --compress-mode=size")
  fi
  if ! has_open_mpi; then
    echo "no Open MPI 4 to build with: the package has no ranks over MPI"
  elif [ ${#small[@]} = 0 ]; then
    echo "kernels are too large with this nvcc: the package has no ranks over MPI"
  else
    mpi=ON
  fi
  cmake -S "$root" -B "$folder" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DSPARSECOLL_CUDA=ON \
    "-DCMAKE_CUDA_ARCHITECTURES=$architectures" -DSPARSECOLL_MPI=$mpi \
    -DSPARSECOLL_HWLOC=$hwloc -DSPARSECOLL_FORTRAN=OFF \
    -DBUILD_SHARED_LIBS=OFF -DSPARSECOLL_BUILD_TESTS=ON -DSPARSECOLL_BUILD_PERF=ON \
    "${small[@]}" "-DCMAKE_EXE_LINKER_FLAGS=$flags" "$@"
  if with_mpi "$folder"; then targets+=(test_mpi_devices); fi
  cmake --build "$folder" --parallel "$jobs" --target "${targets[@]}"
}

# pack FOLDER PACKAGE ARCHITECTURES: replaces the files of the package, and keeps other files in its
# folder, such as results.
pack() {
  local folder=$1 package=$2 new=$2.new program part bytes
  rm -rf "$new"
  mkdir -p "$new/bin" "$new/lib" "$package"
  local programs=("$folder/tests/kernels/cuda/test_gpu" "$folder"/perf/{topk,verbs}_perf)
  if with_mpi "$folder"; then programs+=("$folder/tests/mpi/test_mpi_devices"); fi
  for program in "${programs[@]}"; do
    strip -o "$new/bin/$(basename "$program")" "$program"
    pack_libraries "$program" "$new/lib"
  done
  cp "$root"/perf/device/{run.sh,runner.sh,steps.sh,torch_topk.py} "$root/scripts/options.sh" "$root/perf/tensors/resnet50.txt" "$new/"
  if [ -d "$package/headers" ]; then
    cp -a "$package/headers" "$new/headers"
  else
    pack_headers "$new/headers"
  fi
  if with_mpi "$folder"; then pack_mpi "$new"; fi
  pack_licences "$new"
  pack_nccl "$folder" "$new"
  write_manifest "$new" "$3"
  bytes=$(du -sb "$new" | cut -f 1)
  [ "$bytes" -lt "$limit" ] || die "$new is larger than 64 MiB: $bytes bytes" 1
  for part in bin lib mpi nccl headers licences run.sh runner.sh steps.sh options.sh torch_topk.py resnet50.txt LICENSE NOTICE MANIFEST; do
    rm -rf "${package:?}/$part"
    if [ -e "$new/$part" ]; then mv "$new/$part" "$package/$part"; fi
  done
  rmdir "$new"
  printf '%s: %d KiB\n' "$package" $((bytes / 1024))
}

build() {
  local jobs architectures=90 options=()
  jobs=$(nproc)
  while [ $# -gt 0 ]; do
    case $1 in
      --jobs) need_value "$@" && jobs=$2 && shift ;;
      --arch) need_value "$@" && architectures=$2 && shift ;;
      -DCMAKE_CUDA_ARCHITECTURES*) die "--arch says what to compile for, not $1" ;;
      -D?*) options+=("$1") ;;
      -h | --help) echo "$usage" && exit ;;
      *) no_option "$1" "$usage" ;;
    esac
    shift
  done
  [[ $jobs =~ ^[1-9][0-9]*$ ]] || die "--jobs needs a number, not $jobs"
  [[ $architectures =~ ^[1-9][0-9]+[af]?(,[1-9][0-9]+[af]?)*$ ]] ||
    die "--arch needs compute capabilities as 90 or 80,90, not $architectures"
  find_nvcc
  local folder=$root/build/gpu-release package=$root/build/gpu-package
  # A package from another machine has headers that may be missing here.
  if [ -d "$package/headers" ]; then options+=("-DCMAKE_PREFIX_PATH=$package/headers"); fi
  configure_and_compile "$folder" "$jobs" "$architectures" "${options[@]}"
  pack "$folder" "$package" "$architectures"
}

case ${1:-} in
  build) "$@" ;;
  run)
    shift
    exec "$root/perf/device/run.sh" "$@"
    ;;
  -h | --help) echo "$usage" ;;
  "") die "$usage" ;;
  *) die "unknown command $1
$usage" ;;
esac
