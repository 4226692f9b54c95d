// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Splits communicators.
#include "api/split.hpp"

#include "api/bridge.hpp"

namespace sparsecoll {

Config child_config(const Communicator& parent, const sparsecollConfig_t* config) {
  if (!config) {
    Config inherited = parent.config();
    inherited.values.expectedRanks = 0;
    return inherited;
  }
  const auto device = parent.link().device();
  const Config own = make_config(config, !device);
  if (device) check_nccl_device(own, *device);
  return own;
}

void* initialize_child(Communicator& child, const std::optional<Error>& problem,
                       const Deadline& deadline, uint64_t* committed) {
  try {
    return child.initialize(problem, deadline, committed);
  } catch (const Error& error) {
    if (problem) throw;
    fail(error.code(), "in the new communicator, where this rank is ", child.rank(), " of ",
         child.size(), ": ", error.what());
  }
}

namespace {

/// Makes this rank's end of a child of `parent`, initialises it together with the other ranks of
/// the child, and returns its handle. An abort of `parent` meanwhile aborts the child.
void* make_child(Communicator& parent, std::unique_ptr<Link> link, const Config& config,
                 const Deadline& deadline) {
  const auto child = std::make_shared<Communicator>(std::move(link), config, &parent);
  void* handle = nullptr;
  {
    const AbortedTogether together(parent, child);
    if (parent.health().code() != sparsecollSuccess) child->abort();  // parent was aborted before
    handle = initialize_child(*child, std::nullopt, deadline);
  }
  try {
    child->check_healthy();  // parent may have been aborted after the child's last exchange
    return handle;
  } catch (const Error& error) {
    communicators().erase(handle);
    child->poison_and_throw(error);
  }
}

/// Returns the handle of a communicator of the ranks of one color, in the order of their keys; null
/// for SPARSECOLL_SPLIT_NOCOLOR. Collective. `check` returns the configuration of the new
/// communicator or throws InvalidArgument.
void* split(Communicator& parent, FunctionRef<Config()> check, const SplitArguments& arguments) {
  Descriptor descriptor;
  descriptor.verb = static_cast<uint64_t>(Verb::comm_split);
  Config config;
  Deadline deadline;
  std::unique_ptr<Link> link;
  const auto body = [&](AgreedCall& call) {
    deadline = call.deadline();
    link = parent.link().split(call, arguments);
  };
  parent.run_collective(
      descriptor, [&] { config = check(); }, body);
  if (!link) return nullptr;
  try {
    return make_child(parent, std::move(link), config, deadline);
  } catch (const Error& error) {
    // A rank that failed in the child has failed in the parent, too.
    if (fatal(error.code()) || parent.health().code() != sparsecollSuccess)
      parent.poison_and_throw(error);
    throw;
  }
}

}  // namespace

}  // namespace sparsecoll

using namespace sparsecoll;

sparsecollResult_t sparsecollCommSplit(sparsecollComm_t comm, int color, int key,
                                       sparsecollComm_t* newcomm,
                                       const sparsecollConfig_t* config) {
  return on_communicator("sparsecollCommSplit", comm, [&](Communicator& parent) {
    parent.group().check_closed();
    const auto check = [&] {
      if (color < 0 && color != SPARSECOLL_SPLIT_NOCOLOR)
        fail(sparsecollInvalidArgument,
             "color: expected 0 or more, or SPARSECOLL_SPLIT_NOCOLOR, got ", color);
      if (!newcomm) fail(sparsecollInvalidArgument, "newcomm: expected a pointer, got NULL");
      return child_config(parent, config);
    };
    parent.begin_call([&] {
      *newcomm = static_cast<sparsecollComm_t>(split(parent, check, {color, key}));
    });
    return sparsecollSuccess;
  });
}
