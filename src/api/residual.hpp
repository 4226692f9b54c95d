// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "calls/descriptor.hpp"
#include "core/function_ref.hpp"
#include "core/memory.hpp"
#include "kernels/device.hpp"

namespace sparsecoll {

class Communicator;

/// Error feedback of one tensor: two buffers, of which a call reads one and writes the other. The
/// commit swaps them, so that a call that fails leaves the state as it was. It lives where the
/// buffers of its first call are, on the host until then.
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

  int device() const { return device_; }
  /// Whether it lives there already.
  bool lives_on(int device) const { return made_ && device == device_; }
  /// Whether a call has used it: it does not move any more.
  bool used() const { return used_; }
  /// Makes it, or moves it, if it is not there yet, for a call that has entered the place.
  void live_on(int device, Communicator& owner);
  /// Its values with canonical NaNs, to the host.
  void read_canonical(Bytes to);
  /// The same the other way; may be its own memory.
  void write(ConstBytes from);

  std::byte* current() const { return buffer_[now_].data(); }
  ResidualView view() const { return {current(), buffer_[1 - now_].data()}; }
  /// What was written is what counts from now on.
  void commit(Kernels& kernels) {
    if (in_graph_)
      kernels.copy(view().write, bytes(), current());
    else
      now_ = 1 - now_;
    used_ = true;
  }
  /// A graph finds the same two buffers each time, so that they are not swapped any more.
  void join_graph() { in_graph_ = true; }

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
  void move_to(std::byte* there, int device, Communicator& owner);

  std::weak_ptr<Communicator> owner_;
  std::shared_ptr<Memory> memory_;  ///< outlives the buffers
  size_t count_;
  DataType type_;
  int device_ = kHost;
  bool made_ = false;
  bool used_ = false;
  bool in_graph_ = false;
  Block buffer_[2];
  int now_ = 0;
  std::vector<uint64_t> shapes_;
  uint64_t step_ = 0;
};

/// Runs `body` with kernels of the residual's type and place, where it lives from now on.
void with_kernels(Residual& residual, FunctionRef<void(Kernels&)> body);

}  // namespace sparsecoll
