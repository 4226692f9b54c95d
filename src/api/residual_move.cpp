// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Moves residuals to a communicator of the ranks that remain.
#include <algorithm>
#include <cstring>

#include "api/move.hpp"
#include "api/operation.hpp"
#include "api/residual.hpp"
#include "api/sharding.hpp"
#include "calls/basic_collectives.hpp"
#include "collectives/network/shards.hpp"
#include "kernels/kernels.hpp"

namespace sparsecoll {

namespace {

Region overlap(const Region& a, const Region& b) {
  const uint64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

/// A part of a residual on its way to the rank that owns it.
struct Part {
  Region region;
  const std::byte* values;  ///< null: another rank has the values, and they were not received yet
};

/// Adds parts to values that begin at index `begin`. The first value of an index is copied, so that
/// it keeps its bits, also those of -0.
template <class T>
void add_parts(std::span<const Part> parts, uint64_t begin, std::span<T> values) {
  std::vector<bool> there(values.size());
  for (const Part& part : parts)
    for (uint64_t i = 0; i < part.region.length(); ++i) {
      T value;
      std::memcpy(&value, part.values + i * sizeof value, sizeof value);
      const size_t at = part.region.begin + i - begin;
      values[at] = there[at] ? values[at] + value : value;
      there[at] = true;
    }
}

/// Returns the residual to its state after the last call that all ranks have committed.
void undo_uncommitted(Residual& residual, Communicator& from, const Communicator& to) {
  const uint64_t committed = check_made_of(to, from);
  if (end_device_work(from) && residual.captured())
    fail(sparsecollInvalidUsage,
         "residual: expected one that no CUDA graph has changed, since the launch that failed "
         "cannot be undone");
  residual.undo_after(committed);
}

/// Moves a residual to a communicator where it is for Sharded. The ranks of a node send their
/// values to the owners of the new shards, which add them in rank order. Several ranks have a value
/// of one index only if the old residual was not for Sharded.
class MoveToShards final : public Operation {
 public:
  MoveToShards(std::shared_ptr<Residual> residual, Communicator& from, sparsecollResidual_t handle)
      : residual_(std::move(residual)), from_(from), handle_(handle) {}

  Descriptor descriptor() const override {
    Descriptor descriptor;
    descriptor.verb = static_cast<uint64_t>(Verb::residual_move);
    descriptor.argument[kCount] = residual_->count();
    descriptor.argument[kK] = kAll;
    descriptor.argument[kDataType] = static_cast<uint64_t>(residual_->data_type());
    return descriptor;
  }

  void check_arguments(Communicator& to) override { undo_uncommitted(*residual_, from_, to); }

  MemoryUse buffers_in_use() const override { return {}; }

  void run(const Invocation& invocation) override {
    Communicator& to = invocation.communicator;
    const auto moved = std::make_shared<Residual>(
        to.shared_from_this(), residual_extent(to, residual_->count(), residual_->data_type()),
        residual_->data_type());
    const std::vector<Part> parts = exchange(invocation);
    const auto values = to.backends().arena().take_span<std::byte>(moved->bytes());
    const uint64_t begin = moved->held().begin;
    if (accumulation(moved->data_type()) == DataType::float64)
      add_parts<double>(parts, begin, values_in<double>(values));
    else
      add_parts<float>(parts, begin, values_in<float>(values));
    moved->write(values);
    moved->restore({}, residual_->step());
    to.residuals().reserve();
    invocation.call.confirm();
    // Nothing can fail from here on.
    to.residuals().adopt(from_.residuals(), handle_, moved);
  }

 private:
  Buffers buffers() const noexcept override { return {{}, nullptr}; }

  template <class T>
  static std::span<T> values_in(Bytes bytes) {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  /// Returns the values that the ranks of this node have in this rank's new shard, in rank order.
  std::vector<Part> exchange(const Invocation& invocation) const;

  std::shared_ptr<Residual> residual_;
  Communicator& from_;
  sparsecollResidual_t handle_;
};

std::vector<Part> MoveToShards::exchange(const Invocation& invocation) const {
  Communicator& to = invocation.communicator;
  Arena& arena = to.backends().arena();
  const Topology& topology = to.topology();
  const Region own = residual_->held();
  const size_t size = residual_->value_size();
  const Shards shards(topology, residual_->count());
  const Region shard = shards.region_of(to.rank());
  const auto values = arena.take_span<std::byte>(residual_->bytes());
  residual_->read_canonical(values);
  std::vector<Transfer> transfers;
  std::vector<Part> parts;
  const auto held = allgather_equal(invocation.call, arena, std::as_bytes(std::span(&own, 1)));
  for (int rank = 0; rank < to.size(); ++rank) {
    if (topology.node_of(rank) != topology.node_of(to.rank())) continue;
    Region theirs;
    std::memcpy(&theirs, held[static_cast<size_t>(rank)].data(), sizeof theirs);
    const Region out = overlap(own, shards.region_of(rank)), in = overlap(theirs, shard);
    const std::byte* const from = values.data() + (out.begin - own.begin) * size;
    if (in.length() > 0) parts.push_back({in, rank == to.rank() ? from : nullptr});
    if (rank == to.rank()) continue;
    Transfer transfer{rank, {}, in.length() * size, {}, MessageMemory::host};
    if (out.length() > 0) {
      const size_t bytes = out.length() * size;
      std::byte* const message = arena.take<std::byte>(kHeadroom + bytes) + kHeadroom;
      std::copy_n(from, bytes, message);
      transfer.out = {message, bytes, nullptr, bytes};
    }
    transfers.push_back(transfer);
  }
  invocation.call.exchange(transfers);
  auto received = transfers.begin();
  for (Part& part : parts) {
    if (part.values) continue;
    while (received->in_bound == 0) ++received;
    if (received->in.size() != received->in_bound)
      fail(sparsecollRemoteError, "rank ", received->peer, " sent ", received->in.size(),
           " bytes of a residual, expected ", received->in_bound);
    part.values = received->in.data();
    ++received;
  }
  return parts;
}

/// Moves a residual to a communicator where it holds all values. If it was for Sharded, the values
/// outside its old shard become 0.
void move_whole(const std::shared_ptr<Residual>& residual, Communicator& from, Communicator& to,
                sparsecollResidual_t handle) {
  to.residuals().reserve();
  undo_uncommitted(*residual, from, to);
  if (!residual->sharded()) {
    residual->move_to(to.shared_from_this());
    return to.residuals().adopt(from.residuals(), handle);
  }
  const auto moved = std::make_shared<Residual>(
      to.shared_from_this(), ResidualExtent{residual->count(), {0, residual->count()}},
      residual->data_type());
  std::vector<std::byte> values(moved->bytes());
  residual->read_canonical(
      Bytes(values).subspan(residual->held().begin * residual->value_size(), residual->bytes()));
  moved->write(values);
  moved->restore({}, residual->step());
  to.residuals().adopt(from.residuals(), handle, moved);
}

}  // namespace

}  // namespace sparsecoll

using namespace sparsecoll;

sparsecollResult_t sparsecollResidualMove(sparsecollResidual_t residual, sparsecollComm_t newcomm) {
  constexpr const char* kName = "sparsecollResidualMove";
  return on_residual(kName, residual, [&](Residual& r) {
    const std::shared_ptr<Communicator> from = r.owner();
    return on_new_owner(kName, *from, newcomm, [&](Communicator& to) {
      const std::shared_ptr<Residual> found = residuals().find(residual);
      if (!residual_extent(to, r.count(), r.data_type()).sharded) {
        move_whole(found, *from, to, residual);
        return sparsecollSuccess;
      }
      to.check_healthy();
      to.begin_call([&] {
        MoveToShards move(found, *from, residual);
        run_and_wait(to, move);
      });
      return sparsecollSuccess;
    });
  });
}
