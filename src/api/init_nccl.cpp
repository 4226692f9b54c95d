// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Communicators over NCCL.
#include "api/bridge.hpp"
#include "calls/stream/stream_link.hpp"
#include "transport/stream_transport.hpp"

using namespace sparsecoll;

sparsecollResult_t sparsecollCommInitNccl(sparsecollComm_t* comm, struct ncclComm* nccl,
                                          const sparsecollConfig_t* config) {
  return on_init("sparsecollCommInitNccl", [&] {
    // After bad arguments this rank goes on, so that the init can notify the other ranks, which
    // wait.
    auto [checked, problem] = check_config(config, false);
    if (!comm && !problem)
      problem = Error(sparsecollInvalidArgument, "comm: expected a pointer, got NULL");
    const Deadline deadline = Deadline::after(checked.values.timeoutMs);
    auto transport = make_nccl_transport(nccl, deadline);
    try {
      check_nccl_device(checked, transport->device());
    } catch (const Error& error) {
      if (!problem) problem = error;
    }
    const auto made =
        std::make_shared<Communicator>(std::make_unique<StreamLink>(std::move(transport)), checked);
    *comm = static_cast<sparsecollComm_t>(made->initialize(problem, deadline));
  });
}
