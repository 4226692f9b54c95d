// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sparsecoll/sparsecoll.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/rank_threads.hpp"

namespace sparsecoll::test {

/// P ranks of one process, each with a thread from the first run() to the end.
class Ranks {
 public:
  /// Throws std::runtime_error with the library's message when the init fails.
  Ranks(int P, const sparsecollConfig_t& config);
  /// Takes ownership of the communicators.
  explicit Ranks(std::vector<sparsecollComm_t> comms) : comms_(std::move(comms)) {}
  /// Destroys the communicators that are still there, each in its rank's thread.
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int size() const { return static_cast<int>(comms_.size()); }
  sparsecollComm_t comm(int rank) const { return comms_[static_cast<std::size_t>(rank)]; }

  const std::vector<sparsecollComm_t>& comms() const { return comms_; }

  /// Destroys one rank's communicator now.
  sparsecollResult_t destroy(int rank);

  /// Runs body(rank) on each rank's thread (RankThreads::run). One caller at a time.
  std::string run(const std::string& what, const std::function<std::string(int)>& body) const;

 private:
  std::vector<sparsecollComm_t> comms_;
  mutable std::unique_ptr<RankThreads> threads_;
};

/// Runs body(i) once on any number of threads, without communicators (RankThreads::run).
std::string run_threads(const std::string& what, int threads,
                        const std::function<std::string(int)>& body);

}  // namespace sparsecoll::test
