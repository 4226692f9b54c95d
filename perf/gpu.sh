#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# Everything about the kernels for CUDA that needs a GPU, in one package: built where there is nvcc,
# run where there is a GPU, which may be another machine without compiler and network.
usage="usage: perf/gpu.sh build [--jobs N] [--arch CC] [-DVARIABLE=VALUE...]
       perf/gpu.sh run [--help] [OPTION...] [FOLDER]
  build   tests and benchmarks, in build/gpu; packed into build/gpu-package
    --jobs N      processes of the compiler (all cores)
    --arch CC     compute capability without the point: 80, 90 (default), 100
    -D...         further options for CMake
  run     runs what the package holds, as its own run.sh does; builds it first where there is none
          and nvcc is there"
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)

die() {
  echo "gpu.sh: $1" >&2
  exit "${2:-2}"
}

# value OPTION ARGUMENT...: the argument behind an option, which has to be there.
value() {
  [ $# -gt 1 ] || die "$1 needs a value"
  printf '%s' "$2"
}

# What the configuration needs beside compilers, for a machine where nothing can be installed.
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

# The shared libraries of a program, the loader among them.
pack_libraries() {
  local library
  ldd "$1" | grep -oE '/[^ ]+' | while IFS= read -r library; do
    cp -Lu "$library" "$2/"
  done
}

# write_manifest PACKAGE ARCHITECTURE
write_manifest() {
  local package=$1
  {
    echo "# sparsecoll, tests and benchmarks for a GPU"
    echo "# source: $(git -C "$root" describe --always --dirty 2>/dev/null || echo unknown)"
    echo "# compute capability: $2; $(nvcc --version | grep -o 'release.*'); $(ldd --version | head -n 1)"
    echo "# sha256, bytes, file"
    (cd "$package" && find . -type f ! -name MANIFEST -printf '%P\n' | LC_ALL=C sort |
      while IFS= read -r file; do
        printf '%s %10d %s\n' "$(sha256sum <"$file" | cut -d ' ' -f 1)" "$(stat -c %s "$file")" "$file"
      done)
  } >"$package/MANIFEST"
}

build() {
  local jobs architecture=90 options=() generator=() program bytes
  jobs=$(nproc)
  while [ $# -gt 0 ]; do
    case $1 in
      --jobs) jobs=$(value "$@") && shift ;;
      --arch) architecture=$(value "$@") && shift ;;
      -D*) options+=("$1") ;;
      *) die "$usage" ;;
    esac
    shift
  done
  command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
  command -v nvcc >/dev/null || die "no nvcc on the path or in /usr/local/cuda" 1
  local folder=$root/build/gpu package=$root/build/gpu-package
  if command -v ninja >/dev/null; then generator=(-G Ninja); fi
  # A package that came from elsewhere brings what cannot be installed here.
  if [ -d "$package/headers" ]; then options+=("-DCMAKE_PREFIX_PATH=$package/headers"); fi
  cmake -S "$root" -B "$folder" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DSPARSECOLL_CUDA=ON \
    "-DCMAKE_CUDA_ARCHITECTURES=$architecture-real" -DSPARSECOLL_MPI=OFF -DSPARSECOLL_FORTRAN=OFF \
    -DBUILD_SHARED_LIBS=OFF -DSPARSECOLL_BUILD_TESTS=ON -DSPARSECOLL_BUILD_PERF=ON \
    "-DCMAKE_EXE_LINKER_FLAGS=-static-libstdc++ -static-libgcc" "${options[@]}"
  cmake --build "$folder" --parallel "$jobs" --target test_gpu topk_perf

  rm -rf "$package.new"
  mkdir -p "$package.new/bin" "$package.new/lib"
  for program in "$folder/tests/cuda/test_gpu" "$folder/perf/topk_perf"; do
    strip -o "$package.new/bin/$(basename "$program")" "$program"
    pack_libraries "$program" "$package.new/lib"
  done
  cp "$root/perf/device/run.sh" "$root/perf/device/torch_topk.py" "$package.new/"
  if [ -d "$package/headers" ]; then
    mv "$package/headers" "$package.new/headers"
  else
    pack_headers "$package.new/headers"
  fi
  write_manifest "$package.new" "$architecture"
  rm -rf "$package"
  mv "$package.new" "$package"
  bytes=$(du -sb "$package" | cut -f 1)
  printf '%s: %d KiB, %d programs\n' "$package" $((bytes / 1024)) \
    "$(find "$package/bin" -type f | wc -l)"
  [ "$bytes" -lt $((64 << 20)) ] || die "the package is larger than 64 MiB" 1
}

case ${1:-} in
  build) "$@" ;;
  run)
    shift
    if [ ! -d "$root/build/gpu-package/bin" ] && command -v nvcc >/dev/null; then
      "$root/perf/gpu.sh" build
    fi
    exec "$root/perf/device/run.sh" "$@"
    ;;
  -h | --help) echo "$usage" ;;
  *) die "$usage" ;;
esac
