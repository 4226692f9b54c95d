// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "common/handles.hpp"
#include "common/ranks.hpp"
#include "common/storage.hpp"

namespace sparsecoll::perf {

/// A push-sum state with its vectors. It has a communicator of its own.
template <class T>
class PushSumRun {
 public:
  /// Makes the communicator and the state. Collective.
  PushSumRun(Ranks& ranks, Storage& storage, const sparsecollPushSumConfig_t& config,
             const std::vector<T>& x)
      : storage_(storage),
        communicator_(ranks.connect(config_of(storage))),
        x_(storage, x),
        estimate_(storage, x.size()) {
    require(
        sparsecollPushSumCreate(&state_, x_.size(), datatype_of<T>(), &config, communicator_.get()),
        communicator_.get(), "sparsecollPushSumCreate");
  }

  /// Makes one step. Returns when x and the estimate are complete.
  void step() {
    require(pushSumStep(x_.data(), estimate_.data(), x_.size(), datatype_of<T>(), state_,
                        communicator_.get(), storage_.stream()),
            communicator_.get(), "pushSumStep");
    storage_.wait();
  }
  void drain() {
    require(sparsecollPushSumDrain(state_, x_.data(), estimate_.data(), storage_.stream()),
            communicator_.get(), "sparsecollPushSumDrain");
    storage_.wait();
  }
  double weight() const {
    double weight = 0;
    require(sparsecollPushSumWeight(state_, &weight), communicator_.get(),
            "sparsecollPushSumWeight");
    return weight;
  }

  std::span<const T> x() const { return x_.read(); }
  std::span<const T> estimate() const { return estimate_.read(); }
  std::size_t bytes_sent() const { return communicator_.last_stats().bytesSent; }

 private:
  static sparsecollConfig_t config_of(const Storage& storage) {
    sparsecollConfig_t config = SPARSECOLL_CONFIG_INITIALIZER;
    config.device = storage.device();
    return config;
  }

  Storage& storage_;
  Communicator communicator_;  ///< its destructor frees the state
  sparsecollPushSum_t state_ = nullptr;
  Array<T> x_;
  Array<T> estimate_;
};

/// Returns a number in (-1, 1) that depends on (seed, a, b) and is distributed uniformly.
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
