// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// CUDA kernels of one pair of types beside the host's, and copies of vectors between them. The
// host's plain loops are the specification: the same input gives the same bits.

#include <cstring>
#include <memory>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/cuda/cuda_kernels.hpp"
#include "support/compare.hpp"

namespace sparsecoll::cuda_test {

using unit::Entries;

/// The device backend of one test and its memory. `Acc` is the accumulation type of kType.
template <class Acc, class I, DataType kType>
class DeviceBackend {
 public:
  static constexpr IndexType kIndex = sizeof(I) == 4 ? IndexType::index32 : IndexType::index64;

  DeviceBackend() : DeviceBackend(MessageLocation::on_device) {}
  explicit DeviceBackend(MessageLocation messages)
      : backend_(own_.stream, messages),
        kernels_(make_cuda_kernels(kType, kIndex, backend_)),
        scope_(backend_.arena()),
        slabs_(backend_.slabs()) {}

  Kernels& kernels() { return *kernels_; }
  cuda::Backend& backend() { return backend_; }

  /// Uploads values of any type; the vector may be destroyed at once. An `offset` in bytes, a
  /// multiple of sizeof(V), makes the address less aligned.
  template <class V>
  V* upload(const std::vector<V>& values, size_t offset = 0) {
    std::byte* const at = backend_.arena().take<std::byte>(values.size() * sizeof(V) + offset);
    copy(at + offset, values.data(), values.size() * sizeof(V), cudaMemcpyHostToDevice);
    return reinterpret_cast<V*>(at + offset);
  }
  template <class V>
  std::vector<V> download(const void* from, size_t n) {
    std::vector<V> values(n);
    copy(values.data(), from, n * sizeof(V), cudaMemcpyDeviceToHost);
    return values;
  }

  SparseSpan put(const Entries<Acc>& entries) {
    std::vector<I> index;
    std::vector<Acc> value;
    for (const auto& entry : entries) {
      index.push_back(static_cast<I>(entry.index));
      value.push_back(entry.value);
    }
    return {upload(index), upload(value), count(entries.size())};
  }
  SparseSpan put_dense(const std::vector<Acc>& values) {
    return {nullptr, upload(values), count(values.size())};
  }
  /// Uploads entries with values of type V.
  template <class V = Acc>
  Entries<V> get(const SparseBuffer& buffer) {
    const size_t n = kernels_->read(buffer.nnz);
    const auto index = download<I>(buffer.index, n);
    const auto value = download<V>(buffer.value, n);
    Entries<V> entries;
    for (size_t j = 0; j < n; ++j) entries.push_back({index[j], value[j]});
    return entries;
  }

 private:
  Count count(size_t n) {
    uint64_t* const at = kernels_->counts(1);
    kernels_->set_count(at, n);
    return {n, at};
  }
  void copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    cuda::check(cudaMemcpyAsync(to, from, bytes, kind, own_.stream), "cudaMemcpyAsync");
    cuda::check(cudaStreamSynchronize(own_.stream), "cudaStreamSynchronize");
  }

  /// A stream that does not wait for the legacy default stream, so that work on a wrong stream
  /// shows.
  struct Stream {
    Stream() {
      cuda::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    }
    ~Stream() { cudaStreamDestroy(stream); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    cudaStream_t stream = nullptr;
  };
  const Stream own_;
  cuda::Backend backend_;
  std::unique_ptr<Kernels> kernels_;
  const Arena::Scope scope_, slabs_;
};

/// The kernels of host and device, for the same call on both.
template <class Acc, class I, DataType kType>
struct Pair {
  unit::Backend<Acc, I, kType> host;
  DeviceBackend<Acc, I, kType> device;
};

}  // namespace sparsecoll::cuda_test
