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
};

/// The wishes of all ranks, by rank.
std::vector<Wish> gather_wishes(Communicator& communicator, FramedCall& call, const Wish& own) {
  Arena& arena = communicator.arena();
  Kernels& kernels = make_host_kernels(DataType::float32, IndexType::index32, arena);
  Env env{call, kernels, arena, call.stats(), kernels.counts(1)};
  std::vector<Wish> wishes;
  for (const Gathered& each : allgather_messages(env, std::as_bytes(std::span(&own, 1)), 0)) {
    if (each.message.size() != sizeof(Wish))
      fail(sparsecollRemoteError, "a message was malformed: expected a color and a key");
    std::memcpy(&wishes.emplace_back(), each.message.data(), sizeof(Wish));
  }
  return wishes;
}

/// The ranks of one color, in the order that they will have: by key, then by rank.
std::vector<int> members_of(int color, const std::vector<Wish>& wishes) {
  std::vector<int> members;
  for (size_t r = 0; r < wishes.size(); ++r)
    if (wishes[r].color == color) members.push_back(static_cast<int>(r));
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
    return wishes[static_cast<size_t>(a)].key < wishes[static_cast<size_t>(b)].key;
  });
  return members;
}

}  // namespace

std::shared_ptr<Communicator> Communicator::split(const std::function<Config()>& check, int color,
                                                  int key) {
  Descriptor descriptor;
  descriptor.verb = static_cast<uint64_t>(Verb::comm_split);
  Config config;
  std::unique_ptr<Transport> transport;
  const auto body = [&](FramedCall& call) {
    const std::vector<Wish> wishes = gather_wishes(*this, call, {color, key});
    call.confirm();
    // All ranks are in this call, so that what follows does not wait for long.
    const std::vector<int> none, members = members_of(color, wishes);
    transport = transport_->split(color == SPARSECOLL_SPLIT_NOCOLOR ? none : members, sequence_);
  };
  collective(
      descriptor, [&] { config = check(); }, body);
  if (!transport) return nullptr;
  const auto made = std::make_shared<Communicator>(std::move(transport), config);
  try {
    made->agree_on_init(std::nullopt);
  } catch (const Error& error) {
    if (fatal(error.code())) poison_and_throw(error);  // members of the part are lost here too
    throw;
  }
  return made;
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
    const std::shared_ptr<Communicator> made = parent.split(check, color, key);
    *newcomm = made ? static_cast<sparsecollComm_t>(communicators().insert(made)) : nullptr;
    return sparsecollSuccess;
  });
}
