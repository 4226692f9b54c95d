// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Functions that make and end communicators.
#include "api/bridge.hpp"
#include "api/rank_path.hpp"
#include "calls/framed/framed_link.hpp"
#include "core/cancellation.hpp"
#include "transport/local.hpp"

using namespace sparsecoll;

sparsecollResult_t sparsecollCommInitAll(sparsecollComm_t* comms, int nranks, const int* devices,
                                         const sparsecollConfig_t* config) {
  return on_init("sparsecollCommInitAll", [&] {
    if (!comms) fail(sparsecollInvalidArgument, "comms: expected a pointer, got NULL");
    if (nranks < 1) fail(sparsecollInvalidArgument, "nranks: expected 1 or more, got ", nranks);
    const Config checked = make_config(config);
    check_expected_ranks(checked, nranks);
    std::vector<Config> of_rank(static_cast<size_t>(nranks), checked);
    for (int r = 0; devices && r < nranks; ++r) {
      check_device(text("devices[", r, "]"), devices[r]);
      of_rank[static_cast<size_t>(r)].values.device = devices[r];
    }
    std::vector<std::shared_ptr<Communicator>> made;
    for (auto& transport : make_local_transports(nranks))
      made.push_back(std::make_shared<Communicator>(
          std::make_unique<FramedLink>(std::move(transport)), of_rank[made.size()]));
    std::vector<RankPath> paths;
    for (const auto& each : made) paths.push_back(path_of(checked, each->link()));
    const Topology topology(paths);
    for (size_t r = 0; r < made.size(); ++r) made[r]->set_topology(paths[r], topology);
    for (const auto& each : made) each->start();
    std::vector<void*> handles;
    try {
      for (auto& each : made) handles.push_back(communicators().insert(each));
    } catch (const std::bad_alloc&) {
      for (const void* handle : handles) communicators().erase(handle);
      throw;
    }
    for (const auto& each : made) each->set_number(communicators().number_of(handles.front()));
    for (int r = 0; r < nranks; ++r) comms[r] = static_cast<sparsecollComm_t>(handles[r]);
  });
}

sparsecollResult_t sparsecollCommDestroy(sparsecollComm_t comm) {
  std::shared_ptr<Communicator> communicator = communicators().find(comm);
  if (!communicator) return sparsecollInvalidArgument;
  bool ended = false;
  const sparsecollResult_t result =
      on_entered("sparsecollCommDestroy", communicator.get(), [&](Communicator& c) {
        try {
          c.close();
        } catch (...) {
          ended = c.health().code() != sparsecollSuccess;
          throw;
        }
        ended = true;
        return sparsecollSuccess;
      });
  if (!ended) return result;
  communicators().erase(comm);
  return result;
}

sparsecollResult_t sparsecollCommAbort(sparsecollComm_t comm) {
  const std::shared_ptr<Communicator> communicator = communicators().find(comm);
  if (!communicator) return sparsecollInvalidArgument;
  if (communicator->is_inherited() || communicator->completions().calls_here())
    return sparsecollInvalidUsage;
  const CancellationDisabled uncancelled;
  communicator->abort();
  return sparsecollSuccess;
}
