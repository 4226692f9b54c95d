// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "fuzz/fuzz_state.hpp"
#include "support/ranks.hpp"

namespace sparsecoll::unit {

namespace {

constexpr size_t kLength = 24;
constexpr size_t kKept = 4;
constexpr int kCalls = 3;
constexpr int kTimeoutMs = 20000;

}  // namespace

StatePair::StatePair(uint8_t flags) : flags_(flags) {
  sparsecollConfig_t config = SPARSECOLL_CONFIG_INITIALIZER;
  config.timeoutMs = kTimeoutMs;
  config.algorithm = sparsecollAlgoOktopk;
  config.selection = flags & kStateReuse ? sparsecollSelectReuse : sparsecollSelectExact;
  if (sparsecollCommInitAll(comms_, 2, nullptr, &config) != sparsecollSuccess)
    throw std::runtime_error(sparsecollGetLastError(nullptr));
  sparsecollPushSumConfig_t graph = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;
  graph.k = flags & kStateCompressed ? kKept : 0;
  graph.mixing = 0.5;
  graph.maxDelay = flags & kStateDelay ? 1 : 0;
  const std::string verdict = test::run_threads("make", 2, [&](int rank) -> std::string {
    const sparsecollResult_t result =
        is_push_sum()
            ? sparsecollPushSumCreate(&states_[rank], kLength, sparsecollFloat32, &graph,
                                      comms_[rank])
            : sparsecollResidualCreate(&residuals_[rank], kLength, sparsecollFloat32, comms_[rank]);
    return result == sparsecollSuccess ? "" : sparsecollGetLastError(comms_[rank]);
  });
  if (!verdict.empty()) throw std::runtime_error(verdict);
}

StatePair::~StatePair() {
  for (sparsecollComm_t comm : comms_) sparsecollCommDestroy(comm);
}

sparsecollResult_t StatePair::load(int rank, const std::string& path) const {
  return is_push_sum() ? sparsecollPushSumLoad(states_[rank], path.c_str())
                       : sparsecollResidualLoad(residuals_[rank], path.c_str());
}

sparsecollResult_t StatePair::load_from(int rank, const std::string& bytes) const {
  return is_push_sum() ? sparsecollPushSumLoadFrom(states_[rank], bytes.data(), bytes.size())
                       : sparsecollResidualLoadFrom(residuals_[rank], bytes.data(), bytes.size());
}

sparsecollResult_t StatePair::save(int rank, const std::string& path) const {
  return is_push_sum() ? sparsecollPushSumSave(states_[rank], path.c_str())
                       : sparsecollResidualSave(residuals_[rank], path.c_str());
}

sparsecollResult_t StatePair::reduce(int rank) const {
  sparsecollResult_t result = sparsecollSuccess;
  for (int call = 0; call < kCalls && result == sparsecollSuccess; ++call) {
    std::vector<float> x(kLength);
    for (size_t i = 0; i < kLength; ++i) x[i] = static_cast<float>((i * 7 + call) % 11) - 5;
    result = sparseAllreduce(x.data(), x.data(), kLength, kKept, sparsecollFloat32, sparsecollSum,
                             residuals_[rank], comms_[rank], nullptr);
  }
  return result;
}

sparsecollResult_t StatePair::gossip(int rank) const {
  std::vector<float> x(kLength, static_cast<float>(rank));
  sparsecollResult_t result = sparsecollSuccess;
  for (int step = 0; step < kCalls && result == sparsecollSuccess; ++step)
    result = pushSumStep(x.data(), nullptr, kLength, sparsecollFloat32, states_[rank], comms_[rank],
                         nullptr);
  if (result == sparsecollSuccess)
    result = sparsecollPushSumDrain(states_[rank], x.data(), nullptr, nullptr);
  return result;
}

}  // namespace sparsecoll::unit
