// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "collectives/descriptor.hpp"
#include "core/memory.hpp"
#include "kernels/kernels.hpp"

namespace sparsecoll {

class Communicator;

/// Error feedback of one tensor: two buffers, of which a call reads one and writes the other. The
/// commit swaps them, so that a call that fails leaves the state as it was.
class Residual {
 public:
  /// All zeros.
  Residual(const std::shared_ptr<Communicator>& owner, size_t count, DataType type);

  /// Null once the communicator is gone.
  std::shared_ptr<Communicator> owner() const { return owner_.lock(); }
  size_t count() const { return count_; }
  /// Of the tensor.
  DataType data_type() const { return type_; }
  size_t bytes() const { return count_ * value_size(); }
  /// It is kept in the accumulation type.
  size_t value_size() const { return size_of(accumulation(type_)); }

  void* current() const { return buffer_[now_].data(); }
  ResidualView view() const { return {current(), buffer_[1 - now_].data()}; }
  void commit() { now_ = 1 - now_; }

  /// Notes a call that was committed: its shape, and its number in the communicator.
  void used_by(const Descriptor& shape, uint64_t sequence);
  /// Hashes of the shapes of the last few calls, and the last one's number.
  const std::vector<uint64_t>& shapes() const { return shapes_; }
  uint64_t step() const { return step_; }
  /// What a file says of an earlier life.
  void restore(std::vector<uint64_t> shapes, uint64_t step) {
    shapes_ = std::move(shapes);
    step_ = step;
  }

 private:
  std::weak_ptr<Communicator> owner_;
  std::shared_ptr<Memory> memory_;  ///< outlives the buffers
  size_t count_;
  DataType type_;
  Block buffer_[2];
  int now_ = 0;
  std::vector<uint64_t> shapes_;
  uint64_t step_ = 0;
};

}  // namespace sparsecoll
