// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/group.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "api/operation.hpp"
#include "core/checksum.hpp"

namespace sparsecoll {

namespace {

/// Throws InvalidUsage if two calls of a group use the same memory and one of them writes it.
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

/// Finds the furthest end of all added ranges that do not belong to a given call.
class FurthestEnd {
 public:
  void add(size_t call, uintptr_t end) {
    if (call == call_) {
      end_ = std::max(end_, end);
    } else if (end > end_) {
      others_ = std::exchange(end_, end);
      call_ = call;
    } else {
      others_ = std::max(others_, end);
    }
  }
  uintptr_t of_others(size_t call) const { return call == call_ ? others_ : end_; }

 private:
  size_t call_ = kAll;
  uintptr_t end_ = 0;
  uintptr_t others_ = 0;
};

/// Returns whether two calls use the same residual, or one writes memory that another uses. Takes
/// n log n steps, so that a group of thousands of calls does not spend its time here.
bool any_depend(const std::vector<MemoryUse>& uses) {
  struct Use {
    uintptr_t begin, end;
    size_t call;
    bool writes;
  };
  std::vector<Use> ranges;
  std::unordered_set<const Residual*> residuals;
  for (size_t c = 0; c < uses.size(); ++c) {
    if (uses[c].residual && !residuals.insert(uses[c].residual).second) return true;
    const auto add = [&](const std::vector<ByteRange>& from, bool writes) {
      for (const ByteRange& each : from) {
        const auto begin = reinterpret_cast<uintptr_t>(each.at);
        if (each.bytes > 0) ranges.push_back({begin, begin + each.bytes, c, writes});
      }
    };
    add(uses[c].reads, false);
    add(uses[c].writes, true);
  }
  std::ranges::sort(ranges, {}, &Use::begin);
  FurthestEnd written, used;
  for (const Use& each : ranges) {
    const FurthestEnd& conflicting = each.writes ? used : written;
    if (conflicting.of_others(each.call) > each.begin) return true;
    used.add(each.call, each.end);
    if (each.writes) written.add(each.call, each.end);
  }
  return false;
}

/// Throws InvalidUsage if a call depends on another.
void check_independent(const std::vector<MemoryUse>& uses) {
  if (!any_depend(uses)) return;
  for (size_t c = 0; c < uses.size(); ++c)
    for (size_t earlier = 0; earlier < c; ++earlier)
      check_independent(earlier, uses[earlier], c, uses[c]);
}

/// Checks the arguments of all calls, and that no call depends on another.
void check_operations(const Operations& operations, Communicator& communicator) {
  std::vector<MemoryUse> uses;
  for (size_t c = 0; c < operations.size(); ++c) {
    try {
      operations[c]->check(communicator);
    } catch (const Error& error) {
      check_independent(uses);
      fail(error.code(), "call ", c + 1, " of the group, ",
           verb_name(operations[c]->descriptor().verb), ": ", error.what());
    }
    uses.push_back(operations[c]->memory_use());
  }
  check_independent(uses);
}

}  // namespace

Group::Group() = default;
Group::~Group() = default;

void Group::check_closed() const {
  if (open())
    fail(sparsecollInvalidUsage, "this cannot be part of a group: call sparsecollGroupEnd first");
}

void Group::record(std::unique_ptr<Operation> operation) {
  operation->join_group();
  recorded_.push_back(std::move(operation));
}

Operations Group::end() {
  if (!open()) fail(sparsecollInvalidUsage, "no group is open: call sparsecollGroupStart first");
  return --depth_ > 0 ? Operations{} : std::exchange(recorded_, {});
}

void run_group(Communicator& communicator, const Operations& operations) {
  std::vector<Descriptor> shapes, agreed;
  std::vector<ShapeCache> caches;
  for (const auto& each : operations) {
    shapes.push_back(each->descriptor());
    caches.push_back(communicator.shape_caches().get(shapes.back().hash()));
    agreed.push_back(with_cache_hash(shapes.back(), caches.back()));
  }
  Descriptor group;
  group.verb = static_cast<uint64_t>(Verb::group);
  group.argument[kCalls] = operations.size();
  group.argument[kCallsHash] = checksum(std::as_bytes(std::span(agreed)));
  // If results or residuals depend on the cache of a shape, a call of that shape starts only after
  // the previous call of the shape.
  const sparsecollConfig_t& config = communicator.config().values;
  const bool ordered =
      config.selection != sparsecollSelectExact || config.wire != sparsecollWireNative;
  std::vector<GroupTask> tasks;
  std::unordered_map<uint64_t, int> latest;  // the last call of each shape, by the shape's hash
  for (size_t c = 0; c < operations.size(); ++c) {
    int after = -1;
    if (ordered) {
      const auto [call, is_first] = latest.try_emplace(shapes[c].hash(), static_cast<int>(c));
      if (!is_first) after = std::exchange(call->second, static_cast<int>(c));
    }
    const auto run = [&, c, after](AgreedCall& call) {
      if (after >= 0) caches[c] = caches[static_cast<size_t>(after)];
      invoke(*operations[c], {communicator, call, shapes[c], shapes[c].hash(), caches[c]});
    };
    tasks.push_back({run, after});
  }
  communicator.run_group(
      {group, agreed}, [&] { check_operations(operations, communicator); }, tasks);
}

namespace {

/// Ends the innermost group. Runs or queues the verbs of the outermost one.
void end_group(Communicator& communicator) {
  Group& group = communicator.group();
  if (!group.open()) communicator.check_healthy();  // GroupStart may have failed because of it
  Operations recorded = group.end();
  if (group.open()) return;
  communicator.check_healthy();
  if (recorded.empty()) return;
  communicator.begin_call([&] {
    if (!communicator.queue()) return run_group(communicator, recorded);
    const auto operations = std::make_shared<Operations>(std::move(recorded));
    for (const auto& each : *operations) each->mark(communicator);
    communicator.enqueue("sparsecollGroupEnd",
                         [&communicator, operations] { run_group(communicator, *operations); });
  });
}

}  // namespace

}  // namespace sparsecoll

using namespace sparsecoll;

sparsecollResult_t sparsecollGroupStart(sparsecollComm_t comm) {
  return on_entered("sparsecollGroupStart", comm, [](Communicator& communicator) {
    communicator.check_healthy();
    communicator.group().start();
    return sparsecollSuccess;
  });
}

sparsecollResult_t sparsecollGroupEnd(sparsecollComm_t comm) {
  return on_entered("sparsecollGroupEnd", comm, [](Communicator& communicator) {
    end_group(communicator);
    return sparsecollSuccess;
  });
}
