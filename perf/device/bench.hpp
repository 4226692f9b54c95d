// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "common/options.hpp"
#include "common/report.hpp"
#include "core/numeric.hpp"
#include "device/kernel_report.hpp"
#include "kernels/cuda/cuda_kernels.hpp"

namespace sparsecoll::perf::device {

// The library's 16-bit types, not those of the benchmarks' own oracle.
using sparsecoll::Bfloat16;
using sparsecoll::Float16;

/// The arguments of one run of the program.
struct Bench {
  const Options& options;
  KernelReport& report;
  Progress& progress;
};

/// Measures a kernel for all sizes and densities; merges and messages also for all numbers of
/// inputs or messages.
template <class T>
void measure_selection(const Bench& bench);
template <class T>
void measure_merge(const Bench& bench);
/// Measures pack or unpack.
template <class T>
void measure_messages(const Bench& bench);

/// The type of indices. All vectors here are shorter than 2^32.
inline constexpr IndexType kIndex = IndexType::index32;

/// Memory and kernels of the device. All of its memory is freed with this object.
template <class T>
struct Device {
  cuda::Backend backend{nullptr};
  const Arena::Scope scope{backend.arena()};
  const std::unique_ptr<Kernels> kernels = make_cuda_kernels(data_type_of<T>(), kIndex, backend);

  template <class V>
  V* take(size_t n) {
    return backend.arena().template take<V>(n);
  }
  template <class V>
  std::vector<V> download(const void* from, size_t n) {
    std::vector<V> values(n);
    cuda::check(cudaMemcpyAsync(values.data(), from, n * sizeof(V), cudaMemcpyDeviceToHost,
                                backend.stream()),
                "cudaMemcpyAsync");
    cuda::check(cudaStreamSynchronize(backend.stream()), "cudaStreamSynchronize");
    return values;
  }
};

/// The host's kernels, whose results are the expected ones.
template <class T>
struct Host {
  Memory memory;
  Arena arena{memory};
  const Arena::Scope scope{arena};
  Kernels& kernels = make_plain_kernels(data_type_of<T>(), kIndex, arena);
};

/// Returns the number of values whose bits differ.
template <class V>
size_t differing(const std::vector<V>& got, const V* want) {
  size_t wrong = 0;
  for (size_t i = 0; i < got.size(); ++i)
    wrong += std::memcmp(&got[i], &want[i], sizeof(V)) == 0 ? 0 : 1;
  return wrong;
}

/// Returns the number of entries of `got`, on the device, that differ from those of `want`, on the
/// host, plus the difference of their lengths.
template <class T>
size_t differing(Device<T>& device, const SparseBuffer& got, const SparseBuffer& want) {
  const size_t nnz = device.kernels->read(got.nnz), right = *want.nnz;
  const size_t common = std::min(nnz, right);
  const auto index = device.template download<uint32_t>(got.index, common);
  const auto value = device.template download<Accumulation<T>>(got.value, common);
  return std::max(nnz, right) - common +
         differing(index, static_cast<const uint32_t*>(want.index)) +
         differing(value, static_cast<const Accumulation<T>*>(want.value));
}

}  // namespace sparsecoll::perf::device
