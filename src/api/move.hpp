// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/bridge.hpp"
#include "calls/stream/stream_link.hpp"

namespace sparsecoll {

/// Returns the number of the last call of `from` that counts in `to`. Throws InvalidArgument unless
/// `to` was made of `from` by one or more calls of sparsecollCommShrink().
inline uint64_t check_made_of(const Communicator& to, const Communicator& from) {
  const std::optional<uint64_t> committed = to.committed_in(from);
  if (!committed)
    fail(sparsecollInvalidArgument,
         "newcomm: expected one that sparsecollCommShrink made of the communicator that owns this, "
         "got another");
  return *committed;
}

/// Waits for the work of `from` on the device, which after a failure ends without its messages.
/// Returns whether `from` has failed. If it has, its last calls may have changed residuals and
/// states.
inline bool end_device_work(Communicator& from) {
  StreamLink* const link = link_as<StreamLink>(from.link());
  if (!link) return false;
  if (Device* const device = from.backends().device()) device->wait();
  return link->failure().has_value();
}

/// Runs `body(Communicator& to)` for a C function that moves something of `from`, which the thread
/// has entered, to another communicator.
template <class Body>
sparsecollResult_t on_new_owner(const char* operation, Communicator& from, sparsecollComm_t newcomm,
                                Body&& body) {
  from.group().check_closed();
  const std::shared_ptr<Communicator> to = communicators().find(newcomm);
  if (!to || to.get() == &from)
    fail(sparsecollInvalidArgument,
         "newcomm: expected another communicator, made by sparsecollCommShrink, got ",
         to ? "the one that owns this" : "a handle that is none or was destroyed");
  return on_communicator(operation, to.get(), [&](Communicator& entered) {
    entered.group().check_closed();
    return body(entered);
  });
}

}  // namespace sparsecoll
