// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "support/ranks.hpp"

#include <cstdlib>
#include <stdexcept>

namespace sparsecoll::test {

namespace {

/// Returns whether SPARSECOLL_TEST_TRANSPORT says that ranks find each other by an id and send over
/// UCX, although they are threads.
bool over_ucx() {
  const char* value = std::getenv("SPARSECOLL_TEST_TRANSPORT");
  return value && std::string(value) == "ucx";
}

/// Makes each communicator in a thread of its own, because ranks with an id wait for each other.
void init_over_ucx(std::vector<sparsecollComm_t>& comms, const sparsecollConfig_t& config) {
  const auto P = static_cast<int>(comms.size());
  sparsecollUniqueId id{};
  if (sparsecollGetUniqueId(&id) != sparsecollSuccess)
    throw std::runtime_error(sparsecollGetLastError(nullptr));
  const std::string errors = run_threads("init of ranks over UCX", P, [&](int rank) -> std::string {
    sparsecollComm_t& comm = comms[static_cast<std::size_t>(rank)];
    const sparsecollResult_t result = sparsecollCommInitRank(&comm, P, id, rank, &config);
    return result == sparsecollSuccess ? "" : sparsecollGetLastError(nullptr);
  });
  if (!errors.empty()) throw std::runtime_error(errors);
}

}  // namespace

Ranks::Ranks(int P, const sparsecollConfig_t& config)
    : comms_(static_cast<std::size_t>(P), nullptr) {
  if (over_ucx()) {
    init_over_ucx(comms_, config);
    return;
  }
  const sparsecollResult_t result = sparsecollCommInitAll(comms_.data(), P, nullptr, &config);
  if (result != sparsecollSuccess) {
    throw std::runtime_error("sparsecollCommInitAll of " + std::to_string(P) +
                             " ranks: " + sparsecollGetErrorString(result) + " [" +
                             sparsecollGetLastError(nullptr) + "]");
  }
}

Ranks::~Ranks() {
  // All threads run at the same time, because some wait for each other at the end.
  run("destroy", [this](int rank) {
    destroy(rank);
    return "";
  });
}

sparsecollResult_t Ranks::destroy(int rank) {
  sparsecollComm_t& comm = comms_[static_cast<std::size_t>(rank)];
  if (comm == nullptr) return sparsecollSuccess;
  const sparsecollResult_t result = sparsecollCommDestroy(comm);
  comm = nullptr;
  return result;
}

std::string Ranks::run(const std::string& what, const std::function<std::string(int)>& body) const {
  if (!threads_) threads_ = std::make_unique<RankThreads>(size());
  return threads_->run(what, body);
}

std::string run_threads(const std::string& what, int threads,
                        const std::function<std::string(int)>& body) {
  return RankThreads(threads).run(what, body);
}

}  // namespace sparsecoll::test
