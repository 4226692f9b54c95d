// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Saves push-sum states to files or to memory, and loads them.
#include <bit>
#include <cmath>
#include <deque>

#include "api/arguments.hpp"
#include "api/push_sum_state.hpp"
#include "core/state_file.hpp"

namespace sparsecoll {

namespace {

constexpr const char* kKind = "push-sum";
constexpr uint64_t kLastStep = uint64_t{1}
                               << 62;  // no run reaches it, and adding to it does not overflow

/// The properties that must be the same in a state and in a file.
struct StateProperties {
  uint64_t rank;
  uint64_t ranks;
  uint64_t count;
  uint64_t datatype;
  uint64_t graph;
  uint64_t peers;
  uint64_t compressed;
};

/// The numbers that a state's steps change.
struct Progress {
  uint64_t step;
  uint64_t weight_bits;
};

StateProperties properties_of(const PushSumState& state, const Communicator& communicator) {
  const sparsecollPushSumConfig_t& config = state.config();
  return {static_cast<uint64_t>(communicator.rank()),
          static_cast<uint64_t>(communicator.size()),
          state.shape().count,
          static_cast<uint64_t>(state.shape().type),
          static_cast<uint64_t>(config.graph),
          static_cast<uint64_t>(config.peers),
          config.k > 0};
}

void check_properties(const StateFile& file, const StateProperties& own) {
  const StateProperties saved = file.value<StateProperties>("shape");
  const auto check = [&](const char* what, uint64_t expected, uint64_t got) {
    if (expected != got) file.refuse(what, expected, got);
  };
  check("rank", own.rank, saved.rank);
  check("number of ranks", own.ranks, saved.ranks);
  check("count", own.count, saved.count);
  check("datatype", own.datatype, saved.datatype);
  check("graph", own.graph, saved.graph);
  check("peers", own.peers, saved.peers);
  check("compressed gossip (1) or not (0):", own.compressed, saved.compressed);
}

constexpr const char* kDirections[] = {"sent", "received"};

/// Returns the name of a section: "sent 3" is the copy for the messages sent to rank 3.
std::string name_of(const char* direction, int peer) { return text(direction, " ", peer); }

CompressedGossip::Copies& copies_of(CompressedGossip& gossip, const std::string& direction) {
  return direction == kDirections[0] ? gossip.sent_copies() : gossip.received_copies();
}

void check_nothing_in_flight(const PushSum& push_sum) {
  if (!push_sum.nothing_in_flight())
    fail(sparsecollInvalidUsage,
         "messages may be under way: call sparsecollPushSumDrain on all ranks first");
}

void save(PushSumState& state, Communicator& communicator, const StateTarget& target) {
  PushSum& push_sum = state.push_sum();
  const StateProperties properties = properties_of(state, communicator);
  const Progress progress{push_sum.step_number(),
                          std::bit_cast<uint64_t>(state.weight(communicator))};
  const Workspace workspace(communicator.backends());
  std::vector<StateSection> sections{state_value("shape", properties),
                                     state_value("progress", progress)};
  std::deque<std::string> names;  // names of sections; a deque does not move its elements
  if (CompressedGossip* const compressed = push_sum.compressed())
    for (const char* direction : kDirections)
      for (const auto& [peer, copy] : copies_of(*compressed, direction))
        sections.push_back({names.emplace_back(name_of(direction, peer)).c_str(),
                            state.read_on_host(copy, communicator)});
  if (target.wants(sections)) target.write(kKind, sections);
}

/// Returns the file's copies of one direction.
CompressedGossip::Copies read_copies(const StateFile& file, const char* direction, size_t bytes,
                                     int ranks) {
  CompressedGossip::Copies copies;
  for (int peer = 0; peer < ranks; ++peer) {
    const std::string name = name_of(direction, peer);
    if (file.has(name.c_str())) copies.emplace(peer, file.sized(name.c_str(), bytes));
  }
  return copies;
}

/// `from`: a path, or the bytes of a file.
template <class Source>
void load(PushSumState& state, Communicator& communicator, const Source& from) {
  PushSum& push_sum = state.push_sum();
  const StateFile file(from, kKind, *communicator.backends().memory(kHost));
  check_properties(file, properties_of(state, communicator));
  const Progress progress = file.value<Progress>("progress");
  const auto weight = std::bit_cast<double>(progress.weight_bits);
  if (progress.step > kLastStep) file.refuse("a step of at most", kLastStep, progress.step);
  if (!std::isfinite(weight)) file.refuse("a weight that is", "finite", weight);
  const size_t bytes = push_sum.shape().copy_bytes();
  // Read everything first, so that a bad file changes nothing.
  if (CompressedGossip* const compressed = push_sum.compressed()) {
    CompressedGossip::Copies sent = read_copies(file, kDirections[0], bytes, communicator.size());
    CompressedGossip::Copies received =
        read_copies(file, kDirections[1], bytes, communicator.size());
    compressed->sent_copies().swap(sent);
    compressed->received_copies().swap(received);
  }
  push_sum.resume(progress.step, weight);
  state.replaced_on_host(communicator);
}

void check_replaceable(const PushSum& push_sum) {
  check_nothing_in_flight(push_sum);
  if (push_sum.captured())
    fail(sparsecollInvalidUsage,
         "state: expected one that is not part of a CUDA graph, got one with captured steps");
}

}  // namespace

}  // namespace sparsecoll

using namespace sparsecoll;

sparsecollResult_t sparsecollPushSumSave(sparsecollPushSum_t state, const char* path) {
  return on_push_sum("sparsecollPushSumSave", state, [&](Communicator& c, PushSumState& s) {
    c.check_healthy();
    check_path(path);
    check_nothing_in_flight(s.push_sum());
    save(s, c, StateTarget(path));
    return sparsecollSuccess;
  });
}

sparsecollResult_t sparsecollPushSumSaveTo(sparsecollPushSum_t state, void* buffer, size_t* bytes) {
  return on_push_sum("sparsecollPushSumSaveTo", state, [&](Communicator& c, PushSumState& s) {
    c.check_healthy();
    check_state_target(buffer, bytes);
    check_nothing_in_flight(s.push_sum());
    save(s, c, StateTarget(buffer, bytes));
    return sparsecollSuccess;
  });
}

sparsecollResult_t sparsecollPushSumLoad(sparsecollPushSum_t state, const char* path) {
  return on_push_sum("sparsecollPushSumLoad", state, [&](Communicator& c, PushSumState& s) {
    c.check_healthy();
    check_path(path);
    check_replaceable(s.push_sum());
    load(s, c, std::string(path));
    return sparsecollSuccess;
  });
}

sparsecollResult_t sparsecollPushSumLoadFrom(sparsecollPushSum_t state, const void* buffer,
                                             size_t bytes) {
  return on_push_sum("sparsecollPushSumLoadFrom", state, [&](Communicator& c, PushSumState& s) {
    c.check_healthy();
    const ConstBytes saved = state_in_memory(buffer, bytes);
    check_replaceable(s.push_sum());
    load(s, c, saved);
    return sparsecollSuccess;
  });
}
