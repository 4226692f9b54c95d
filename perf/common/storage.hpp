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

/// Where one rank's vectors are, as --memory says: on the host, or on its device, where it has a
/// stream of its own.
class Storage {
 public:
  virtual ~Storage() = default;
  /// `device` of a configuration.
  virtual int device() const = 0;
  /// Of every call.
  virtual sparsecollStream_t stream() const = 0;
  /// The device's name; "" on the host.
  virtual std::string gpu() const = 0;

  /// Zeros; not null.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void free(void* at) noexcept = 0;
  virtual void write(void* to, const void* from, std::size_t bytes) = 0;
  /// What is there once all that is on the stream is done; on a device it is copied to `room`.
  virtual const void* read(const void* from, std::size_t bytes, std::vector<std::byte>& buffer) = 0;
  /// What does the same as `work`, which queues something on the stream, from now on: on a device
  /// the launch of a CUDA graph, so that nothing is done yet; on the host `work` itself.
  virtual std::function<void()> capture(const std::function<void()>& work) = 0;
  /// Until all that is on the stream is done.
  virtual void wait() = 0;
};

/// That of the options; ranks of a host take its devices in turn. Collective.
std::unique_ptr<Storage> make_storage(const Options& options, Ranks& ranks);

/// Values in a storage, which outlives them.
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
  /// The first n of them on the host, until the next call.
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
