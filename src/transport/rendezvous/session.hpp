// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/deadline.hpp"
#include "transport/rendezvous/protocol.hpp"

namespace sparsecoll::rendezvous {

/// A rank that has connected. Its session sends it frames.
class Guest {
 public:
  virtual ~Guest() = default;
  virtual void send(const Frame& frame) = 0;
  /// Returns the address from which it has connected.
  virtual std::string name() const = 0;
};

/// The rendezvous of the ranks of one communicator. It waits for all ranks, and then gathers the
/// bytes that they pass, until they leave. The first failure is sent to all connected ranks, and
/// ends the session.
class Session {
 public:
  /// Accepts a rank. Returns its number, or -1 if it was refused and got a failure.
  int join(Guest& guest, const Greeting& greeting);
  /// Adds the bytes that a rank passes to the allgather.
  void contribute(int rank, ConstBytes bytes);
  /// Ends the session because a rank has failed; `why` is the reason.
  void give_up(int rank, const std::string& why);
  /// Handles the end of a rank's connection.
  void leave(int rank);
  /// Fails if the deadline of a rank has passed.
  void expire(Clock::time_point now);
  /// Returns the time at which expire() must be called.
  Clock::time_point deadline() const { return deadline_; }

 private:
  struct Seat {
    Guest* guest = nullptr;
    std::string name;  ///< the address of the guest
    std::optional<std::vector<std::byte>> bytes;
  };
  /// Returns the ranks for which `is_missing` is true, as text.
  template <class Condition>
  std::string ranks_where(Condition is_missing) const;
  std::string greeting_problem(const Greeting& greeting) const;
  void fail_all(sparsecollResult_t code, const std::string& why);

  std::vector<Seat> seats_;  ///< by rank; empty before the first rank has connected
  uint32_t version_ = 0;
  uint32_t first_ = 0;  ///< the rank that connected first
  size_t present_ = 0;
  bool complete_ = false;  ///< all ranks have connected
  bool over_ = false;
  std::string why_;  ///< why the session has failed; empty if it has not
  Clock::time_point deadline_ = Clock::time_point::max();
};

}  // namespace sparsecoll::rendezvous
