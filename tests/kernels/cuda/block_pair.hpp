// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Vectors of blocks, and the kernels for them on host and device.

#include "kernels/cuda/values.hpp"

namespace sparsecoll::cuda_test {

inline constexpr size_t kLooseBound = 70;  // how much the host's bounds of lengths are too large
inline constexpr size_t kBlockSizes[] = {2, 5, 16, 33, 200};

/// A vector of blocks.
template <class Acc>
struct Blocks {
  std::vector<uint64_t> index;
  std::vector<Acc> value;
};

/// Returns blocks at some of the indices below `count`.
template <class Acc>
Blocks<Acc> blocks_of(test::Kind kind, size_t count, size_t size, uint64_t seed,
                      unsigned every = 2) {
  const std::vector<Acc> values = values_of<Acc>(kind, count * size, seed);
  Blocks<Acc> blocks;
  for (size_t i = 0; i < count; ++i) {
    if (test::noise(seed, 77, i) % every != 0) continue;
    blocks.index.push_back(i);
    const auto from = values.begin() + static_cast<std::ptrdiff_t>(i * size);
    blocks.value.insert(blocks.value.end(), from, from + static_cast<std::ptrdiff_t>(size));
  }
  return blocks;
}

/// Kernels of one size of blocks on host and device.
template <class T, class I = uint32_t>
class BlockPair {
 public:
  using Acc = Accumulation<T>;
  static constexpr IndexType kIndex = sizeof(I) == 4 ? IndexType::index32 : IndexType::index64;

  explicit BlockPair(size_t size, MessageLocation messages = MessageLocation::on_device)
      : size_(size),
        host_(make_plain_kernels(data_type_of<T>(), kIndex, arena_, size)),
        device_(messages),
        on_device_(make_cuda_kernels(data_type_of<T>(), kIndex, device_.backend(), size)) {}

  Kernels& host() { return host_; }
  Kernels& device() { return *on_device_; }
  DeviceBackend<Acc, I, data_type_of<T>()>& backend() { return device_; }

  /// A vector on host and device. The host knows only an upper bound of the latter's length.
  struct Spans {
    SparseSpan host, device;
  };
  Spans put(const Blocks<Acc>& blocks) {
    const size_t n = blocks.index.size();
    const SparseBuffer buffer = host_.sparse(n);
    std::copy(blocks.index.begin(), blocks.index.end(), static_cast<I*>(buffer.index));
    std::copy(blocks.value.begin(), blocks.value.end(), static_cast<Acc*>(buffer.value));
    *buffer.nnz = n;
    std::vector<I> index(blocks.index.begin(), blocks.index.end());
    index.resize(n + 1);  // there is an address even if there is no entry
    uint64_t* const nnz = device_.kernels().counts(1);
    device_.kernels().set_count(nnz, n);
    return {buffer.span(),
            {device_.upload(index), device_.upload(blocks.value), {n + kLooseBound, nnz}}};
  }
  SparseBuffer on_host(const SparseBuffer& there) {
    const size_t n = device_.kernels().read(there.nnz);
    const auto index = device_.template download<I>(there.index, n);
    const auto value = device_.template download<Acc>(there.value, n * size_);
    SparseBuffer here = host_.sparse(n);
    std::copy(index.begin(), index.end(), static_cast<I*>(here.index));
    std::copy(value.begin(), value.end(), static_cast<Acc*>(here.value));
    *here.nnz = n;
    return here;
  }
  /// Returns the indices and the bits of the values of type V.
  template <class V>
  std::vector<uint64_t> bits(const SparseBuffer& here) {
    const auto* const index = static_cast<const I*>(here.index);
    const auto* const value = static_cast<const V*>(here.value);
    std::vector<uint64_t> all(index, index + *here.nnz);
    for (const auto each : bits_but_nan(std::vector<V>(value, value + *here.nnz * size_)))
      all.push_back(each);
    return all;
  }
  template <class V>
  std::vector<uint64_t> bits_there(const SparseBuffer& there) {
    const size_t n = device_.kernels().read(there.nnz);
    const auto index = device_.template download<I>(there.index, n);
    std::vector<uint64_t> all(index.begin(), index.end());
    for (const auto each : bits_but_nan(device_.template download<V>(there.value, n * size_)))
      all.push_back(each);
    return all;
  }
  /// Makes a vector of up to `most` blocks by `call(kernels, out)` on host and device. Returns
  /// what differs. V is the type of its values.
  template <class V, class HostCall, class DeviceCall>
  std::string compare(const char* what, size_t most, const HostCall& on_host,
                      const DeviceCall& on_device) {
    const SparseBuffer want = host().sparse(most), got = device().sparse(most + kLooseBound);
    on_host(host(), want);
    on_device(device(), got);
    return test::difference(what, bits_there<V>(got), bits<V>(want));
  }

 private:
  const size_t size_;
  Memory memory_;
  Arena arena_{memory_};
  const Arena::Scope scope_{arena_};
  Kernels& host_;
  DeviceBackend<Acc, I, data_type_of<T>()> device_;
  const std::unique_ptr<Kernels> on_device_;
};

}  // namespace sparsecoll::cuda_test
