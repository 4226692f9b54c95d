// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Communicators made of parts of others.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "api/bridge.hpp"

namespace sparsecoll {

namespace {

struct Wish {
  int color;
  int key;
  uint64_t address;  ///< of this rank in its part
};

/// The wishes of all ranks, by rank.
std::vector<Wish> gather_wishes(Communicator& communicator, FramedCall& call, const Wish& own) {
  Arena& arena = communicator.arena();
  Kernels& kernels = make_host_kernels(DataType::float32, IndexType::index32, arena);
  Env env{call, kernels, arena, call.stats(), kernels.counts(1)};
  std::vector<Wish> wishes;
  for (const Gathered& each : allgather_messages(env, std::as_bytes(std::span(&own, 1)), 0)) {
    if (each.message.size() != sizeof(Wish))
      fail(sparsecollRemoteError,
           "a message was malformed: expected a color, a key and an address");
    std::memcpy(&wishes.emplace_back(), each.message.data(), sizeof(Wish));
  }
  return wishes;
}

/// The ranks of one color, in the order that they will have: by key, then by rank.
std::vector<Member> members_of(int color, const std::vector<Wish>& wishes) {
  std::vector<Member> members;
  if (color == SPARSECOLL_SPLIT_NOCOLOR) return members;
  for (size_t r = 0; r < wishes.size(); ++r)
    if (wishes[r].color == color) members.push_back({static_cast<int>(r), wishes[r].address});
  std::ranges::stable_sort(
      members, {}, [&](const Member& each) { return wishes[static_cast<size_t>(each.rank)].key; });
  return members;
}

}  // namespace

void* Communicator::split(FunctionRef<Config()> check, int color, int key) {
  Descriptor descriptor;
  descriptor.verb = static_cast<uint64_t>(Verb::comm_split);
  Config config;
  Deadline deadline;
  std::unique_ptr<Transport> transport;
  const auto body = [&](FramedCall& call) {
    deadline = call.deadline();
    const Wish own{color, key, transport_->next_address()};
    const std::vector<Wish> wishes = gather_wishes(*this, call, own);
    call.confirm();
    transport = transport_->split(members_of(color, wishes), sequence_);
  };
  collective(
      descriptor, [&] { config = check(); }, body);
  if (!transport) return nullptr;
  try {
    return join_part(std::move(transport), config, deadline);
  } catch (const Error& error) {
    // The members that are lost to the part are lost here too.
    if (fatal(error.code()) || poison() != sparsecollSuccess) poison_and_throw(error);
    throw;
  }
}

void* Communicator::join_part(std::unique_ptr<Transport> transport, const Config& config,
                              const Deadline& deadline) {
  const auto part = std::make_shared<Communicator>(std::move(transport), config);
  const auto let_abort_reach = [this](std::shared_ptr<Communicator> joining) {
    const std::lock_guard lock(mutex_);
    joining_ = std::move(joining);
  };
  let_abort_reach(part);
  try {
    if (poison() != sparsecollSuccess) part->abort();  // it came before
    void* const handle = part->join(std::nullopt, deadline);
    let_abort_reach(nullptr);
    if (part->poison() == sparsecollSuccess) return handle;
    communicators().erase(handle);  // it came when the part was complete
    part->poison_and_throw(Error(sparsecollInvalidUsage, "aborted by sparsecollCommAbort"));
  } catch (...) {
    let_abort_reach(nullptr);
    throw;
  }
}

}  // namespace sparsecoll

using namespace sparsecoll;

sparsecollResult_t sparsecollCommSplit(sparsecollComm_t comm, int color, int key,
                                       sparsecollComm_t* newcomm,
                                       const sparsecollConfig_t* config) {
  return on_communicator("sparsecollCommSplit", comm, [&](Communicator& parent) {
    parent.refuse_in_group();
    const auto check = [&] {
      if (color < 0 && color != SPARSECOLL_SPLIT_NOCOLOR)
        fail(sparsecollInvalidArgument,
             "color: expected 0 or more, or SPARSECOLL_SPLIT_NOCOLOR, got ", color);
      if (!newcomm) fail(sparsecollInvalidArgument, "newcomm: expected a pointer, got NULL");
      return config ? make_config(config) : parent.config();
    };
    parent.take_part(
        [&] { *newcomm = static_cast<sparsecollComm_t>(parent.split(check, color, key)); });
    return sparsecollSuccess;
  });
}
