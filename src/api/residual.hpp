// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "calls/descriptor.hpp"
#include "core/function_ref.hpp"
#include "core/memory.hpp"
#include "kernels/device.hpp"

namespace sparsecoll {

class Communicator;

/// The part of a tensor that a residual holds.
struct ResidualExtent {
  size_t count;          ///< n, the length of the tensor
  Region held;           ///< the indices whose values the residual holds
  bool sharded = false;  ///< whether the residual is for Sharded and holds this rank's shard only
};

/// The error feedback of one tensor. A call reads one buffer and writes another. The commit swaps
/// them, so that a failed call leaves the state unchanged. It is on the backend of the buffers of
/// its first call; before that on the host.
///
/// The last committed call can be undone, because when a rank fails others may have failed in that
/// call (sparsecollCommShrink). So the buffer with the state before it stays until all ranks are
/// known to have committed the call. Only consecutive calls, or a local function after a call, need
/// a third buffer for that. A call in place keeps the values that it changes instead.
///
/// Over NCCL a call is committed when it is queued, so that the last one may never have run. There
/// the last two can be undone, and there are always three buffers. If the program does not wait for
/// its calls, earlier ones may never have run, too: then the state is lost.
class Residual {
 public:
  static constexpr size_t kMostShapes = 8;  // calls on one tensor have few shapes

  /// Creates a residual of zeros.
  Residual(const std::shared_ptr<Communicator>& owner, const ResidualExtent& extent, DataType type);

  /// Returns null after the communicator was destroyed.
  std::shared_ptr<Communicator> owner() const { return owner_.lock(); }
  /// The length of the tensor.
  size_t count() const { return extent_.count; }
  /// Returns whether the residual is for Sharded.
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
  /// Copies the values of the residual to the host, with canonical NaNs.
  void read_canonical(Bytes to);
  /// Sets the values from the host, with canonical NaNs. `from` may be the residual's memory.
  void write(ConstBytes from);

  std::byte* current() const { return buffer_[now_].data(); }
  ResidualView view() const { return {current(), buffer_[next_].data()}; }
  /// Chooses the buffer that the next update writes. Call it before view(). `agreed`: number of the
  /// last call that all ranks are known to have made; not used over NCCL.
  void prepare_update(uint64_t agreed);
  /// Makes the written buffer the current one, as call `sequence` does.
  void commit(Kernels& kernels, uint64_t sequence);
  /// Does the same for a local function after call `sequence`, which may be one without this
  /// residual; 0: before the first call. It is undone together with that call.
  void commit_after(Kernels& kernels, uint64_t sequence);
  /// Keeps what is needed to undo the changes at these indices that call `sequence`, on which all
  /// ranks have agreed, is about to make in place.
  void keep(Kernels& kernels, std::span<const SparseSpan> changes, uint64_t sequence);
  /// Undoes the last calls whose numbers are larger than `committed`. Throws InvalidUsage if they
  /// are too many, and changes nothing then.
  void undo_after(uint64_t committed);
  /// Scales the values, including those that an undo would restore.
  void scale(Kernels& kernels, double factor);
  /// Makes this communicator the owner.
  void move_to(const std::shared_ptr<Communicator>& owner);
  const ResidualExtent& extent() const { return extent_; }
  /// Stops swapping the buffers, because a CUDA graph uses the same two in every launch. After this
  /// no call can be undone.
  void set_captured() {
    captured_ = true;
    if (!before_.empty()) lost_ = before_.back().changed_in;
    forget_undo();
  }
  bool captured() const { return captured_; }

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
  /// The old values at the indices that a call in place has changed, on the host.
  struct Journal {
    std::vector<uint64_t> index;
    std::vector<std::byte> values;
  };

  /// A state before a call, to which undo_after() returns.
  struct Version {
    int buffer;
    uint64_t changed_in;   ///< the call
    uint64_t step_before;  ///< step() before that call
  };

  void forget_undo() {
    before_.clear();
    journal_ = {};
  }
  /// Makes the written buffer the current one.
  void swap(Kernels& kernels);
  /// Keeps the state in this buffer as that before a call.
  void add_version(int buffer, uint64_t sequence);
  void drop_oldest_version();
  /// Allocates this buffer if it has no memory yet.
  void allocate(int buffer);
  void move_to(std::byte* there, int device, Communicator& owner);

  std::weak_ptr<Communicator> owner_;
  std::shared_ptr<Memory> memory_;  ///< outlives the buffers
  ResidualExtent extent_;
  DataType type_;
  int device_ = kHost;
  bool made_ = false;
  bool used_ = false;
  bool captured_ = false;
  size_t most_versions_;  ///< 0: no call is undone
  Block buffer_[3];       ///< the third buffer exists if needed; over NCCL from the first call on
  int now_ = 0;
  int next_ = 1;                 ///< the buffer that view() writes
  std::vector<Version> before_;  ///< oldest first
  Journal journal_;              ///< for undo_after(), if the last call was in place
  uint64_t lost_ = 0;            ///< the last call that cannot be undone
  std::vector<uint64_t> shapes_;
  uint64_t step_ = 0;
};

/// Runs `body` with kernels of the residual's type and backend, after the buffers were moved there.
void with_kernels(Residual& residual, FunctionRef<void(Kernels&)> body);

}  // namespace sparsecoll
