// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Communicators made of parts of others.
#include "api/bridge.hpp"

namespace sparsecoll {

void* Communicator::split(FunctionRef<Config()> check, int color, int key) {
  Descriptor descriptor;
  descriptor.verb = static_cast<uint64_t>(Verb::comm_split);
  Config config;
  Deadline deadline;
  std::unique_ptr<Link> link;
  const auto body = [&](AgreedCall& call) {
    deadline = call.deadline();
    link = link_->split(call, {color, key});
  };
  collective(
      descriptor, [&] { config = check(); }, body);
  if (!link) return nullptr;
  try {
    return join_part(std::move(link), config, deadline);
  } catch (const Error& error) {
    // The members that are lost to the part are lost here too.
    if (fatal(error.code()) || poison() != sparsecollSuccess) poison_and_throw(error);
    throw;
  }
}

void* Communicator::join_part(std::unique_ptr<Link> link, const Config& config,
                              const Deadline& deadline) {
  const auto part = std::make_shared<Communicator>(std::move(link), config, node_);
  const auto let_abort_reach = [this](std::shared_ptr<Communicator> joining) {
    const std::lock_guard lock(mutex_);
    joining_ = std::move(joining);
  };
  let_abort_reach(part);
  try {
    if (poison() != sparsecollSuccess) part->abort();  // it came before
    void* const handle = part->join(std::nullopt, deadline);
    let_abort_reach(nullptr);
    try {
      part->check_healthy();  // an abort may have come when the part was complete
      return handle;
    } catch (const Error& error) {
      communicators().erase(handle);
      part->poison_and_throw(error);
    }
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
      if (!config) return parent.config();
      const auto device = parent.link().device();
      const Config own = make_config(config, !device);
      if (device) check_place(own, *device);
      return own;
    };
    parent.take_part(
        [&] { *newcomm = static_cast<sparsecollComm_t>(parent.split(check, color, key)); });
    return sparsecollSuccess;
  });
}
