// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Device memory and streams, as a user of the C API has them.

#include <cuda_runtime.h>
#include <sparsecoll/sparsecoll.h>

#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/typed.hpp"

namespace sparsecoll::devices {

inline void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

/// A stream that does not wait for the default stream, so that missing dependencies show.
class OwnStream {
 public:
  OwnStream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~OwnStream() { cudaStreamDestroy(stream_); }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  operator cudaStream_t() const { return stream_; }
  void wait() const { check(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Frees device memory when no ranks exist. cudaFree waits for all streams of a device, and their
/// ranks may wait for the rank that calls it.
class DeferredFrees {
 public:
  void add(void* at) {
    {
      const std::lock_guard lock(mutex_);
      if (ranks_ > 0) return all_.push_back(at);
    }
    cudaFree(at);
  }
  /// Ranks are created; memory is kept until ranks_end().
  void ranks_begin() {
    const std::lock_guard lock(mutex_);
    ++ranks_;
  }
  void ranks_end() {
    {
      const std::lock_guard lock(mutex_);
      if (--ranks_ > 0) return;
    }
    free_all();
  }
  void free_all() {
    const std::lock_guard lock(mutex_);
    for (void* const at : all_) cudaFree(at);
    all_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<void*> all_;
  int ranks_ = 0;
};
inline DeferredFrees& deferred_frees() {
  static DeferredFrees all;
  return all;
}
inline void free_later(void* at) {
  if (at) deferred_frees().add(at);
}

/// Values on the current device. put() and read() copy in the order of a stream, and wait for it.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t n) : n_(n) {
    void* at = nullptr;
    check(cudaMalloc(&at, (n + 1) * sizeof(T)));  // + 1: never a null pointer
    at_ = static_cast<T*>(at);
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) { put(values); }
  DeviceArray(DeviceArray&& other) noexcept : at_(other.at_), n_(other.n_) { other.at_ = nullptr; }
  DeviceArray& operator=(DeviceArray&&) = delete;
  ~DeviceArray() { free_later(at_); }

  T* get() const { return at_; }
  std::size_t size() const { return n_; }
  void put(const std::vector<T>& values, cudaStream_t stream = nullptr) {
    check(cudaMemcpyAsync(at_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice,
                          stream));
    check(cudaStreamSynchronize(stream));
  }
  std::vector<T> read(std::size_t n, cudaStream_t stream = nullptr) const {
    std::vector<T> values(n);
    check(cudaMemcpyAsync(values.data(), at_, n * sizeof(T), cudaMemcpyDeviceToHost, stream));
    check(cudaStreamSynchronize(stream));
    return values;
  }
  std::vector<T> read(cudaStream_t stream = nullptr) const { return read(n_, stream); }

 private:
  T* at_ = nullptr;
  std::size_t n_;
};

}  // namespace sparsecoll::devices
