// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <sparsecoll/sparsecoll.hpp>

#include "trainer.h"

namespace train {

/// What each rank does with its communicator.
using Body = std::function<Outcome(sparsecoll::Communicator&)>;

/// The ranks of a run.
class Ranks {
 public:
  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  virtual ~Ranks() = default;

  /// Makes a communicator, runs `body` on all ranks, and returns the outcome of one of them. If a
  /// rank throws, its error is printed and all ranks end, because the others would wait for it.
  virtual Outcome run(const sparsecoll::Config& config, const Body& body) = 0;
  /// Returns whether this process prints results.
  virtual bool reports() const { return true; }
};

/// Returns ranks that are threads of this process.
std::unique_ptr<Ranks> make_threads(int count);

/// Returns ranks that are processes of mpirun. Throws std::runtime_error in a build without MPI.
std::unique_ptr<Ranks> make_processes();

}  // namespace train
