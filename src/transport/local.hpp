// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "transport/transport.hpp"

namespace sparsecoll {

/// What becomes of one message between threads; for tests of failures.
struct Fate {
  bool drop = false;
  bool kill_sender = false;  ///< the message and all later ones of the sender vanish, silently
  std::chrono::microseconds delay{0};
  size_t corrupt_byte = kAll;  ///< this byte (modulo size) is inverted
};

/// Decides the fate of sender's number-th message (from 0), which goes to receiver. Called from the
/// senders' threads.
using FatePlan = std::function<Fate(int sender, int receiver, size_t number)>;

/// One transport per rank; ranks are threads of this process. A message is copied once, by the
/// sender, into a block of the receiver's pool, or not at all if it was handed over; sending never
/// waits. The order in which messages of
/// different senders are polled depends on timing, nothing else does.
std::vector<std::unique_ptr<Transport>> make_local_transports(int ranks, const FatePlan& plan = {});

}  // namespace sparsecoll
