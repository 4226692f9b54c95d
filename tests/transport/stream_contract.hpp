// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The contract of StreamTransport (src/transport/stream_transport.hpp) as test cases. A test
// program of a transport implements Rank, makes one for every rank, and calls run() for each of
// cases() on all ranks at the same time. Each rank has a thread, whose current device is the
// rank's.

#include <string>
#include <vector>

#include "transport/stream_transport.hpp"

namespace sparsecoll::stream_contract {

/// Parts of the transport's error messages. The contract does not define them.
struct Messages {
  std::string ended;             ///< InvalidUsage after interrupt() or close()
  std::string missing_peer;      ///< Timeout of a first exchange that rank 1 does not make
  std::string missing_in_split;  ///< Timeout of a split that not all ranks make
  std::string broken;            ///< RemoteError after break_peers()
};

/// Properties of the transport under test that the contract leaves open.
struct Traits {
  /// Sizes in bytes of the messages to send. Add those around the transport's internal limits.
  std::vector<size_t> sizes = {0, 1, 2, 3, 7, 8, 63, 64, 65, 4096, 100003};
  size_t large = 3000000;  ///< bytes of a large message
  Messages messages = {};
};

/// One rank of the ranks that run a case together.
class Rank {
 public:
  virtual ~Rank() = default;
  /// Returns the transport under test. Every case gets fresh transports.
  virtual StreamTransport& transport() = 0;
  virtual const Traits& traits() const = 0;
  /// Returns the rank, the number of ranks and the device for which the transport was made.
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int device() const = 0;
  /// Waits until all ranks have called it, by other means than the transport.
  virtual void barrier() = 0;
  /// Makes the layer below notice that this rank's peers are lost. Returns false if the test
  /// program cannot do that.
  virtual bool break_peers() = 0;
};

/// A case of the contract.
struct Case {
  const char* name;
  void (*run)(Rank& rank);      ///< throws what is wrong
  bool ends_transport = false;  ///< the case closes the transport or makes it unusable
};

/// Returns all cases. Every one suits any number of ranks.
std::vector<Case> cases();

/// Runs the case on this rank, and closes the transport unless the case has ended it. Returns "" or
/// what is wrong.
std::string run(const Case& which, Rank& rank);

}  // namespace sparsecoll::stream_contract
