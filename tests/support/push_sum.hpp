// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Push-sum states with C++ types, and graphs with their names in the library and in the oracle.

#include <sparsecoll/sparsecoll.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "oracle/push_sum.hpp"
#include "support/compare.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {

/// A graph with its number of peers.
struct GraphCase {
  const char* name;
  sparsecollGraphKind_t kind;
  oracle::GraphKind same;
  int peers;

  sparsecollPushSumConfig_t config() const {
    sparsecollPushSumConfig_t config = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;
    config.graph = kind;
    config.peers = peers;
    return config;
  }
  oracle::MixingMatrix matrix(int P, std::uint64_t t) const {
    return oracle::mixing_matrix(same, peers, P, t);
  }
};

inline constexpr GraphCase kExponential{"exponential", sparsecollGraphExponential,
                                        oracle::GraphKind::kExponential, 1};
inline constexpr GraphCase kGraphs[] = {
    kExponential,
    {"1 peer", sparsecollGraphNPeerExponential, oracle::GraphKind::kNPeer, 1},
    {"2 peers", sparsecollGraphNPeerExponential, oracle::GraphKind::kNPeer, 2},
    {"3 peers", sparsecollGraphNPeerExponential, oracle::GraphKind::kNPeer, 3},
    {"7 peers", sparsecollGraphNPeerExponential, oracle::GraphKind::kNPeer, 7},
    {"40 peers", sparsecollGraphNPeerExponential, oracle::GraphKind::kNPeer, 40},
    {"ring", sparsecollGraphRing, oracle::GraphKind::kRing, 1},
    {"bipartite", sparsecollGraphBipartiteExponential, oracle::GraphKind::kBipartite, 1}};

/// A state of one rank. The constructor is collective.
template <class T>
class PushSum {
 public:
  PushSum(sparsecollComm_t comm, std::size_t count, const sparsecollPushSumConfig_t& config)
      : comm_(comm), count_(count) {
    const sparsecollResult_t result =
        sparsecollPushSumCreate(&handle_, count, kDatatype<T>, &config, comm);
    if (result != sparsecollSuccess)
      throw std::runtime_error("sparsecollPushSumCreate: " + explain(result, comm));
  }
  PushSum(PushSum&& other) noexcept
      : handle_(other.handle_), comm_(other.comm_), count_(other.count_) {
    other.handle_ = nullptr;
  }
  PushSum& operator=(PushSum&&) = delete;
  /// Does nothing after the communicator's end.
  ~PushSum() {
    if (handle_ != nullptr) sparsecollPushSumDestroy(handle_);
  }

  sparsecollPushSum_t handle() const { return handle_; }

  sparsecollResult_t step(std::vector<T>& x, std::vector<T>* estimate = nullptr) const {
    return settle(submit_step(x, estimate), comm_);
  }
  /// Makes a step. Does not wait for it if calls are queued.
  sparsecollResult_t submit_step(std::vector<T>& x, std::vector<T>* estimate = nullptr) const {
    return pushSumStep(x.data(), estimate ? estimate->data() : nullptr, count_, kDatatype<T>,
                       handle_, comm_, nullptr);
  }
  sparsecollResult_t drain(std::vector<T>& x, std::vector<T>* estimate = nullptr) const {
    return settle(
        sparsecollPushSumDrain(handle_, x.data(), estimate ? estimate->data() : nullptr, nullptr),
        comm_);
  }
  /// Returns the weight, or NaN after an error.
  double weight() const {
    double weight = 0;
    const sparsecollResult_t result = sparsecollPushSumWeight(handle_, &weight);
    return result == sparsecollSuccess ? weight : std::nan("");
  }

 private:
  sparsecollPushSum_t handle_ = nullptr;
  sparsecollComm_t comm_;
  std::size_t count_;
};

/// Returns "" if no value differs from the expected one by more than `tolerance` times `scale`.
template <class T>
std::string distance(const std::string& what, const std::vector<T>& got,
                     const std::vector<double>& want, double tolerance) {
  double scale = 1;
  for (const double value : want) scale = std::max(scale, std::fabs(value));
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double off = std::fabs(static_cast<double>(got[i]) - want[i]);
    if (!(off <= tolerance * scale))
      return what + "[" + std::to_string(i) + "] = " + show(got[i]) + " instead of " +
             show(want[i]);
  }
  return "";
}

/// Returns the rounding error that a few steps may make, relative to the largest value.
template <class T>
inline constexpr double kTolerance = sizeof(T) == 4 ? 2e-6 : 4e-15;

/// Returns the sum of the vectors of all ranks, in double.
template <class T>
std::vector<double> sum_of(const std::vector<std::vector<T>>& vectors) {
  std::vector<double> sum(vectors[0].size(), 0.0);
  for (const auto& each : vectors)
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(each[i]);
  return sum;
}

template <class T>
std::vector<double> wide(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}

}  // namespace sparsecoll::test
