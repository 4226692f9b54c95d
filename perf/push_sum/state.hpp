// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "common/handles.hpp"
#include "common/ranks.hpp"

namespace sparsecoll::perf {

/// A push-sum state with its vectors, on a communicator of its own.
template <class T>
class PushSumRun {
 public:
  /// Collective.
  PushSumRun(Ranks& ranks, const sparsecollPushSumConfig_t& config, std::vector<T> x)
      : communicator_(ranks.connect(host_config())), x_(std::move(x)), estimate_(x_.size()) {
    require(
        sparsecollPushSumCreate(&state_, x_.size(), datatype_of<T>(), &config, communicator_.get()),
        communicator_.get(), "sparsecollPushSumCreate");
  }

  void step() {
    require(pushSumStep(x_.data(), estimate_.data(), x_.size(), datatype_of<T>(), state_,
                        communicator_.get(), nullptr),
            communicator_.get(), "pushSumStep");
  }
  void drain() {
    require(sparsecollPushSumDrain(state_, x_.data(), estimate_.data(), nullptr),
            communicator_.get(), "sparsecollPushSumDrain");
  }
  double weight() const {
    double weight = 0;
    require(sparsecollPushSumWeight(state_, &weight), communicator_.get(),
            "sparsecollPushSumWeight");
    return weight;
  }

  const std::vector<T>& x() const { return x_; }
  const std::vector<T>& estimate() const { return estimate_; }
  std::size_t bytes_sent() const { return communicator_.last_stats().bytesSent; }

 private:
  static sparsecollConfig_t host_config() {
    sparsecollConfig_t config = SPARSECOLL_CONFIG_INITIALIZER;
    config.device = SPARSECOLL_DEVICE_HOST;
    return config;
  }

  Communicator communicator_;  ///< frees the state
  sparsecollPushSum_t state_ = nullptr;
  std::vector<T> x_;
  std::vector<T> estimate_;
};

/// Uniform in (-1, 1), other values for every rank, step and place.
inline double noise(std::uint64_t seed, std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15u + a * 0xbf58476d1ce4e5b9u + b * 0x94d049bb133111ebu;
  for (int round = 0; round < 2; ++round) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
  }
  return static_cast<double>(x >> 11) * 0x1p-52 - 1;
}

template <class T>
std::vector<T> noisy_vector(std::uint64_t seed, int rank, std::size_t n) {
  std::vector<T> x(n);
  for (std::size_t i = 0; i < n; ++i)
    x[i] = static_cast<T>(noise(seed, static_cast<std::uint64_t>(rank) + 1, i));
  return x;
}

}  // namespace sparsecoll::perf
