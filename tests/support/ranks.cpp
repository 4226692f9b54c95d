// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "support/ranks.hpp"

#include <chrono>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <thread>

#include "support/config.hpp"
#include "support/hang_guard.hpp"

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
  std::vector<std::thread> pool;
  for (int rank = 1; rank < size(); ++rank) pool.emplace_back([this, rank] { destroy(rank); });
  if (size() > 0) destroy(0);
  for (std::thread& thread : pool) thread.join();
}

sparsecollResult_t Ranks::destroy(int rank) {
  sparsecollComm_t& comm = comms_[static_cast<std::size_t>(rank)];
  if (comm == nullptr) return sparsecollSuccess;
  const sparsecollResult_t result = sparsecollCommDestroy(comm);
  comm = nullptr;
  return result;
}

std::string Ranks::run(const std::string& what, const std::function<std::string(int)>& body) const {
  return run_threads(what, size(), body);
}

std::string run_threads(const std::string& what, int threads,
                        const std::function<std::string(int)>& body) {
  HangGuard guard(what, threads);
  std::vector<std::string> verdicts(static_cast<std::size_t>(threads));
  std::vector<std::thread> pool;
  // A vector that grows frees its old memory after the last thread has begun. A test that counts
  // what is on the heap must not see that.
  pool.reserve(static_cast<std::size_t>(threads));
  for (int rank = 0; rank < threads; ++rank) {
    pool.emplace_back([&, rank] {
      std::string& verdict = verdicts[static_cast<std::size_t>(rank)];
      try {
        verdict = body(rank);
      } catch (const std::exception& error) {
        verdict = std::string("exception: ") + error.what();
      }
      guard.leave(rank);
    });
  }
  for (std::thread& thread : pool) thread.join();
  std::string all;
  for (std::size_t rank = 0; rank < verdicts.size(); ++rank) {
    if (!verdicts[rank].empty()) {
      all += "\n  " + what + "\n    rank " + std::to_string(rank) + ": " + verdicts[rank];
    }
  }
  return all;
}

}  // namespace sparsecoll::test
