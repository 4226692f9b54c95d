// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <barrier>
#include <vector>

#include "transport/bootstrap.hpp"

namespace sparsecoll::unit {

/// A group of threads that exchange bytes through memory.
class Team {
 public:
  explicit Team(int ranks) : barrier_(ranks), parts_(static_cast<size_t>(ranks)) {}

  void barrier() { barrier_.arrive_and_wait(); }
  /// Called by a rank that has failed, so that no other waits for it.
  void leave() { barrier_.arrive_and_drop(); }
  std::vector<std::byte> allgather(int rank, ConstBytes own) {
    parts_[static_cast<size_t>(rank)].assign(own.begin(), own.end());
    barrier();
    std::vector<std::byte> all;
    for (const auto& part : parts_) all.insert(all.end(), part.begin(), part.end());
    barrier();  // no rank writes again before all have read
    return all;
  }

 private:
  std::barrier<> barrier_;
  std::vector<std::vector<std::byte>> parts_;
};

/// The bootstrap of a rank of a team.
class TeamBootstrap final : public Bootstrap {
 public:
  TeamBootstrap(Team& team, int rank) : team_(team), rank_(rank) {}
  std::vector<std::byte> allgather(ConstBytes own) override { return team_.allgather(rank_, own); }

 private:
  Team& team_;
  int rank_;
};

}  // namespace sparsecoll::unit
