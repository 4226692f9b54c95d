// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/arguments.hpp"
#include "api/bridge.hpp"
#include "api/communicator.hpp"

namespace sparsecoll {

/// One verb in progress, after its arguments were found good.
struct Turn {
  Communicator& communicator;
  AgreedCall& call;
  const Descriptor& descriptor;  ///< what the ranks agree on
};

/// A verb with its arguments by value, so that it may run later and on another thread.
class Operation {
 public:
  virtual ~Operation() = default;

  virtual Descriptor descriptor() const = 0;
  /// Throws InvalidArgument for what this rank should not have passed.
  virtual void check(Communicator& communicator) = 0;
  /// Exchanges, confirms, then writes outputs and state. Throws Truncated when all of that is done
  /// but an output was too small.
  virtual void run(const Turn& turn) = 0;
};

/// The way of every verb from the C function to its work.
template <class Verb>
sparsecollResult_t submit(Verb verb, sparsecollComm_t comm) {
  return on_communicator(verb_name(verb.descriptor().verb), comm, [&](Communicator& communicator) {
    communicator.run(verb);
    return sparsecollSuccess;
  });
}

}  // namespace sparsecoll
