// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sparsecoll/sparsecoll.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/options.hpp"
#include "common/ranks.hpp"

namespace sparsecoll::perf {

/// The memory of one rank's vectors, which --memory chooses: the host's, or that of the rank's
/// device. On a device the rank has a stream of its own. With --memory copied the vectors are on
/// the device and each has a copy on the host, which the library gets: addresses are those of the
/// copies.
class Storage {
 public:
  virtual ~Storage() = default;
  /// Returns the value for sparsecollConfig_t::device.
  virtual int device() const = 0;
  /// Returns the stream to pass to every call.
  virtual sparsecollStream_t stream() const = 0;
  /// Returns the name of the device that has the vectors, or "" on the host.
  virtual std::string gpu() const = 0;
  /// Returns its number, for the count of devices.
  virtual int gpu_number() const { return device(); }

  /// Allocates memory, filled with zeros. The address is not null even for 0 bytes.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void free(void* at) noexcept = 0;
  virtual void write(void* to, const void* from, std::size_t bytes) = 0;
  /// Waits for the stream, then returns the bytes at `from`. From a device they are copied to
  /// `buffer`.
  virtual const void* read(const void* from, std::size_t bytes, std::vector<std::byte>& buffer) = 0;
  /// Returns a function that repeats `work`, which must only queue work on the stream. On a device
  /// this captures `work` into a CUDA graph, without running it, and the function launches the
  /// graph. On the host the function is `work` itself.
  virtual std::function<void()> capture(const std::function<void()>& work) = 0;
  /// Waits for the stream.
  virtual void wait() = 0;
  /// Makes the host's copy of a part of a vector equal to the vector, or the vector equal to its
  /// copy. Nothing is done if there are no copies.
  virtual void copy_to_host(const void* /*at*/, std::size_t /*bytes*/) {}
  virtual void copy_to_device(const void* /*at*/, std::size_t /*bytes*/) {}
};

/// Makes the storage that options.memory names. The ranks of a host use its devices in turn.
/// Collective.
std::unique_ptr<Storage> make_storage(const Options& options, Ranks& ranks);

/// An array in a storage, which must outlive it.
template <class V>
class Array {
 public:
  Array(Storage& storage, std::size_t n)
      : storage_(&storage), n_(n), data_(static_cast<V*>(storage.allocate(n * sizeof(V)))) {}
  Array(Storage& storage, std::span<const V> values) : Array(storage, values.size()) {
    storage.write(data_, values.data(), values.size_bytes());
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { storage_->free(data_); }

  V* data() const { return data_; }
  std::size_t size() const { return n_; }
  /// Returns the first n values in host memory. They are valid until the next call.
  std::span<const V> read(std::size_t n) const {
    return {static_cast<const V*>(storage_->read(data_, n * sizeof(V), buffer_)), n};
  }
  std::span<const V> read() const { return read(n_); }

 private:
  Storage* storage_;
  std::size_t n_;
  V* data_;
  mutable std::vector<std::byte> buffer_;
};

}  // namespace sparsecoll::perf
