// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The contract of Transport (src/transport/transport.hpp) as test cases. A test program of a
// transport implements Rank, makes one for every rank, and calls run() for each of cases() on all
// ranks at the same time.

#include <string>
#include <vector>

#include "transport/transport.hpp"

namespace sparsecoll::contract {

/// Properties of the transport under test that the contract leaves open.
struct Traits {
  /// Sizes in bytes of the messages to send. Add those around the transport's internal limits.
  std::vector<size_t> sizes = {0, 1, 7, 63, 64, 65, 4096, 100003, 1000001};
  size_t large = 3000000;  ///< bytes of a large message, at least 100; most are no larger
  bool close_is_collective = false;
  bool knows_gone = true;            ///< gone() becomes true when a peer leaves
  bool interrupt_leaves = false;     ///< interrupt() makes the rank gone for its peers
  bool knows_calls = false;          ///< gone_before() returns peers
  bool real_time = true;             ///< idle() waits in real time and can be interrupted
  bool recovers = false;             ///< it has a recovery()
  bool recovery_knows_gone = false;  ///< gone() of that becomes true when a peer is destroyed
};

/// One rank of the ranks that run a case together.
class Rank {
 public:
  virtual ~Rank() = default;
  /// Returns the transport under test. Every case gets fresh transports.
  virtual Transport& transport() = 0;
  virtual const Traits& traits() const = 0;
  /// Destroys the transport, which is not used any more. Needed only with Traits::recovers.
  virtual void destroy() {}
  /// Waits until all ranks have called it, by other means than the transport.
  virtual void barrier() = 0;
  /// Returns the numbers of all ranks, by rank. Collective.
  virtual std::vector<uint64_t> allgather(uint64_t own) = 0;
};

/// A case of the contract.
struct Case {
  const char* name;
  void (*run)(Rank& rank);      ///< throws what is wrong
  bool ends_transport = false;  ///< the case closes the transport or makes it unusable
};

/// Returns all cases. Every one suits any number of ranks.
std::vector<Case> cases();

/// Runs the case on this rank. Unless the case does it itself, it then checks that no message is
/// left and closes the transport. Returns "" or what is wrong.
std::string run(const Case& which, Rank& rank);

}  // namespace sparsecoll::contract
