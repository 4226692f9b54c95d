// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Creates communicators over any transports, and gives them handles of the C API.

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "api/communicator.hpp"
#include "api/handles.hpp"
#include "api/rank_path.hpp"
#include "api/topology_tree.hpp"
#include "calls/framed/framed_link.hpp"
#include "support/config.hpp"
#include "support/ranks.hpp"
#include "transport/local.hpp"

namespace sparsecoll::unit {

/// Returns the memory from which a communicator takes workspace and state on the host.
inline Memory& host_memory(Communicator& communicator) {
  return *communicator.backends().memory(kHost);
}

/// With blocking = 0 the test starts each rank, for which a thread is made.
class Communicators {
 public:
  Communicators(std::vector<std::unique_ptr<Transport>> transports,
                const sparsecollConfig_t& values, bool check = true) {
    Config config;
    config.values = values;
    config.check = check;
    config.ranks_per_node = test::ranks_per_node();
    const char* const file = std::getenv("SPARSECOLL_TOPOLOGY");
    if (file) config.tree = std::make_shared<TopologyTree>(TopologyTree::from_file(file));
    for (auto& transport : transports) {
      receive_memories_.push_back(
          const_cast<Memory*>(&transport->memory()));  // the object itself is not const
      communicators_.push_back(std::make_shared<Communicator>(
          std::make_unique<FramedLink>(std::move(transport)), config));
      if (values.blocking) communicators_.back()->start();
      handles_.push_back(
          static_cast<sparsecollComm_t>(communicators().insert(communicators_.back())));
    }
    if (file) set_topology(config);
  }
  /// Creates P ranks that are threads of this process.
  Communicators(int P, const sparsecollConfig_t& values, const FaultPlan& plan = {},
                bool check = true)
      : Communicators(make_local_transports(P, plan), values, check) {}
  ~Communicators() {
    for (int rank = 0; rank < size(); ++rank) destroy(rank);
  }
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  int size() const { return static_cast<int>(handles_.size()); }
  sparsecollComm_t handle(int rank) const { return handles_[static_cast<size_t>(rank)]; }
  const std::vector<sparsecollComm_t>& handles() const { return handles_; }
  Communicator& operator[](int rank) { return *communicators_[static_cast<size_t>(rank)]; }

  /// Returns the channel of a rank.
  Channel& channel(int rank) { return link_as<FramedLink>((*this)[rank].link())->channel(); }

  /// Returns the memory that holds a rank's received messages.
  Memory& receive_memory(int rank) { return *receive_memories_[static_cast<size_t>(rank)]; }

  sparsecollResult_t destroy(int rank) {
    sparsecollComm_t& handle = handles_[static_cast<size_t>(rank)];
    if (!handle) return sparsecollSuccess;
    communicators_[static_cast<size_t>(rank)].reset();
    const sparsecollResult_t result = sparsecollCommDestroy(handle);
    handle = nullptr;
    return result;
  }

  /// Runs body(rank) on one thread for each rank. Returns the errors of all ranks, or "".
  std::string run(const std::string& what, const std::function<std::string(int)>& body) const {
    return test::run_threads(what, size(), body);
  }

 private:
  void set_topology(const Config& config) {
    std::vector<RankPath> paths;
    for (const auto& each : communicators_) paths.push_back(path_of(config, each->link()));
    const Topology topology(paths);
    for (size_t r = 0; r < paths.size(); ++r) communicators_[r]->set_topology(paths[r], topology);
  }

  std::vector<Memory*> receive_memories_;
  std::vector<std::shared_ptr<Communicator>> communicators_;
  std::vector<sparsecollComm_t> handles_;
};

}  // namespace sparsecoll::unit
