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

/// The part of a tensor that a residual holds.
struct ResidualExtent {
  size_t count;          ///< n, the length of the tensor
  Region held;           ///< the indices whose values it holds
  bool sharded = false;  ///< it is for Sharded and holds this rank's shard
};

/// The error feedback of one tensor. It has two buffers: a call reads one and writes the other. The
/// commit swaps them, so that a failed call leaves the state unchanged. It is on the backend of the
/// buffers of its first call; before that on the host.
class Residual {
 public:
  static constexpr size_t kMostShapes = 8;  // one tensor is used with few shapes

  /// Creates a residual of zeros.
  Residual(const std::shared_ptr<Communicator>& owner, const ResidualExtent& extent, DataType type);

  /// Returns null after the communicator was destroyed.
  std::shared_ptr<Communicator> owner() const { return owner_.lock(); }
  /// The length of the tensor.
  size_t count() const { return extent_.count; }
  /// Returns whether it is for Sharded.
  bool sharded() const { return extent_.sharded; }
  /// The indices whose values it holds, and their number.
  const Region& held() const { return extent_.held; }
  size_t held_count() const { return extent_.held.length(); }
  /// The tensor's type.
  DataType data_type() const { return type_; }
  size_t bytes() const { return held_count() * value_size(); }
  /// Bytes of a value, which has the accumulation type.
  size_t value_size() const { return size_of(accumulation(type_)); }

  int device() const { return device_; }
  /// Returns whether its buffers are on this device.
  bool is_on(int device) const { return made_ && device == device_; }
  /// Returns whether a call has used it. Then it does not move any more.
  bool used() const { return used_; }
  /// Allocates its buffers on this device, or moves them there. The call has begun its work on it.
  void move_to(int device, Communicator& owner);
  /// Copies its values to the host, with canonical NaNs.
  void read_canonical(Bytes to);
  /// Sets its values from the host, with canonical NaNs. `from` may be its own memory.
  void write(ConstBytes from);

  std::byte* current() const { return buffer_[now_].data(); }
  ResidualView view() const { return {current(), buffer_[1 - now_].data()}; }
  /// Makes the written buffer the current one.
  void commit(Kernels& kernels) {
    if (captured_)
      kernels.copy(view().write, bytes(), current());
    else
      now_ = 1 - now_;
    used_ = true;
  }
  /// Stops swapping the buffers, because a CUDA graph uses the same two in every launch.
  void set_captured() { captured_ = true; }

  /// Records a committed call: its shape, and its number in the communicator.
  void record_call(const Descriptor& shape, uint64_t sequence);
  /// Hashes of the shapes of its last calls, at most kMostShapes.
  const std::vector<uint64_t>& shapes() const { return shapes_; }
  uint64_t step() const { return step_; }
  /// Continues from a saved state.
  void restore(std::vector<uint64_t> shapes, uint64_t step) {
    shapes_ = std::move(shapes);
    step_ = step;
  }

 private:
  void move_to(std::byte* there, int device, Communicator& owner);

  std::weak_ptr<Communicator> owner_;
  std::shared_ptr<Memory> memory_;  ///< outlives the buffers
  ResidualExtent extent_;
  DataType type_;
  int device_ = kHost;
  bool made_ = false;
  bool used_ = false;
  bool captured_ = false;
  Block buffer_[2];
  int now_ = 0;
  std::vector<uint64_t> shapes_;
  uint64_t step_ = 0;
};

/// Runs `body` with kernels of the residual's type and backend, where its buffers are from then on.
void with_kernels(Residual& residual, FunctionRef<void(Kernels&)> body);

}  // namespace sparsecoll
