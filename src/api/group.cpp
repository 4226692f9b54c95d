// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Groups: verbs that travel together (calls/group_member.hpp).
#include <utility>

#include "api/operation.hpp"
#include "core/checksum.hpp"

namespace sparsecoll {

namespace {

using Calls = std::vector<std::unique_ptr<Operation>>;

/// Throws InvalidUsage when the later call would see what the earlier one does.
void check_independent(size_t earlier, const MemoryUse& a, size_t later, const MemoryUse& b) {
  if (a.residual && a.residual == b.residual)
    fail(sparsecollInvalidUsage,
         "residual: expected one for each call of a group, got the same in ", "calls ", earlier + 1,
         " and ", later + 1);
  const auto check = [&](const std::vector<ByteRange>& first,
                         const std::vector<ByteRange>& second) {
    for (const ByteRange& one : first)
      for (const ByteRange& other : second)
        if (overlap(one, other))
          fail(sparsecollInvalidUsage, "calls of a group must not depend on each other: ", one.name,
               " of call ", earlier + 1, " overlaps ", other.name, " of call ", later + 1);
  };
  check(a.writes, b.reads);
  check(a.reads, b.writes);
  check(a.writes, b.writes);
}

void check_calls(const Calls& calls, Communicator& communicator) {
  std::vector<MemoryUse> footprints;
  for (size_t c = 0; c < calls.size(); ++c) {
    try {
      calls[c]->check(communicator);
    } catch (const Error& error) {
      fail(error.code(), "call ", c + 1, " of the group, ", verb_name(calls[c]->descriptor().verb),
           ": ", error.what());
    }
    footprints.push_back(calls[c]->memory_use());
    for (size_t earlier = 0; earlier < c; ++earlier)
      check_independent(earlier, footprints[earlier], c, footprints[c]);
  }
}

}  // namespace

void Communicator::refuse_in_group() const {
  if (grouping())
    fail(sparsecollInvalidUsage, "this cannot be part of a group: call sparsecollGroupEnd first");
}

void Communicator::open_group() {
  check_healthy();
  ++group_depth_;
}

void Communicator::close_group() {
  if (group_depth_ == 0) {
    check_healthy();  // else it was not opened because of that
    fail(sparsecollInvalidUsage, "no group is open: call sparsecollGroupStart first");
  }
  if (--group_depth_ > 0) return;
  Calls recorded = std::exchange(group_, {});
  check_healthy();
  if (recorded.empty()) return;
  take_part([&] {
    if (!queue_) return run(recorded);
    const auto calls = std::make_shared<Calls>(std::move(recorded));
    for (const auto& each : *calls) each->mark(*this);
    enqueue("sparsecollGroupEnd", [this, calls] { run(*calls); });
  });
}

void Communicator::record(std::unique_ptr<Operation> operation) {
  operation->join_group();
  group_.push_back(std::move(operation));
}

void Communicator::run(const Calls& calls) {
  std::vector<Descriptor> shapes, agreed;
  std::vector<ShapeCache> last;
  for (const auto& each : calls) {
    shapes.push_back(each->descriptor());
    last.push_back(cache(shapes.back()));
    agreed.push_back(with_cache_hash(shapes.back(), last.back()));
  }
  Descriptor group;
  group.verb = static_cast<uint64_t>(Verb::group);
  group.argument[kCalls] = calls.size();
  group.argument[kCallsHash] = checksum(std::as_bytes(std::span(agreed)));
  const auto body = [&](AgreedCall& call) {
    // Where results or residuals depend on what the last call of the shape left, a call of the same
    // shape waits for it.
    const bool in_turn = config_.values.selection != sparsecollSelectExact ||
                         config_.values.wire != sparsecollWireNative;
    std::vector<GroupTask> members;
    for (size_t c = 0; c < calls.size(); ++c) {
      int after = -1;
      for (size_t earlier = 0; in_turn && earlier < c; ++earlier)
        if (shapes[earlier] == shapes[c]) after = static_cast<int>(earlier);
      const auto work = [&, c, after](AgreedCall& member) {
        if (after >= 0) last[c] = last[static_cast<size_t>(after)];
        invoke(*calls[c], {*this, member, shapes[c], last[c]});
      };
      members.push_back({work, after});
    }
    last_was_group_ = true;
    link_->run_group(call, members);
  };
  collective(
      {group, agreed}, [&] { check_calls(calls, *this); }, body);
}

}  // namespace sparsecoll

using namespace sparsecoll;

sparsecollResult_t sparsecollGroupStart(sparsecollComm_t comm) {
  return on_entered("sparsecollGroupStart", comm, [](Communicator& communicator) {
    communicator.open_group();
    return sparsecollSuccess;
  });
}

sparsecollResult_t sparsecollGroupEnd(sparsecollComm_t comm) {
  return on_entered("sparsecollGroupEnd", comm, [](Communicator& communicator) {
    communicator.close_group();
    return sparsecollSuccess;
  });
}
