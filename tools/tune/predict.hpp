// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure.hpp"

namespace sparsecoll::tune {

/// The predicted times of calls of one length and density, in seconds.
struct Prediction {
  std::size_t count = 0;
  double density = 0;
  std::size_t k = 0;
  std::string algorithm;  ///< that Auto takes
  double exchange = 0;
  double local = 0;
  double dense = 0;
  std::optional<double> measured = {};  ///< the time of the call, with --check

  double call() const { return exchange + local; }
  double speed_up() const { return dense / call(); }
};

/// Predicts from what was measured.
class Predictor {
 public:
  Predictor(const Options& options, const Measured& measured);

  int ranks() const { return ranks_; }
  /// Returns the network as Auto sees it.
  const Network& network() const { return network_; }
  /// Returns "measured", "given", or "assumed".
  const char* source() const { return source_; }
  /// Returns whether the time of the dense allreduce was measured, or is that of the cost model.
  bool dense_is_measured() const { return dense_is_measured_; }

  Prediction predict(std::size_t count, double density) const;
  /// Returns the largest density at which the call is as fast as the dense allreduce; none if it is
  /// slower at all of Options::densities.
  std::optional<double> break_even(std::size_t count) const;

 private:
  double dense(std::size_t count) const;
  double local(std::size_t count, double density) const;

  const Measured& measured_;
  std::vector<double> densities_;
  int ranks_;
  Network network_;
  const char* source_;
  bool dense_is_measured_;
};

}  // namespace sparsecoll::tune
