// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/deadline.hpp"
#include "transport/rendezvous/protocol.hpp"

namespace sparsecoll::rendezvous {

/// A rank that has come, as its session sees it.
class Guest {
 public:
  virtual ~Guest() = default;
  virtual void send(const Frame& frame) = 0;
  /// Returns the address from which it has come.
  virtual std::string name() const = 0;
};

/// The rendezvous of the ranks of one communicator. It gathers the ranks, and then what they pass,
/// until they leave. The first failure is sent to all ranks that have come, and ends it.
class Session {
 public:
  /// Lets a rank in. Returns its number, or -1 after it was sent a failure.
  int join(Guest& guest, const Greeting& greeting);
  /// A rank passes its bytes.
  void contribute(int rank, ConstBytes bytes);
  /// A rank has failed; `why` is its reason.
  void give_up(int rank, const std::string& why);
  /// The connection of a rank has ended.
  void leave(int rank);
  /// Fails if the deadline of a rank has passed.
  void expire(Clock::time_point now);
  /// Returns when expire() has something to do.
  Clock::time_point deadline() const { return deadline_; }

 private:
  struct Seat {
    Guest* guest = nullptr;
    std::string name;  ///< where the guest came from
    std::optional<std::vector<std::byte>> bytes;
  };
  /// Returns the ranks for which `is_missing` is true, as text.
  template <class Condition>
  std::string ranks_where(Condition is_missing) const;
  std::string greeting_problem(const Greeting& greeting) const;
  void fail_all(sparsecollResult_t code, const std::string& why);

  std::vector<Seat> seats_;  ///< by rank; empty before the first one has come
  uint32_t version_ = 0;
  uint32_t first_ = 0;  ///< the rank that came first
  size_t present_ = 0;
  bool complete_ = false;  ///< all ranks have come
  bool over_ = false;
  std::string why_;  ///< it failed
  Clock::time_point deadline_ = Clock::time_point::max();
};

}  // namespace sparsecoll::rendezvous
