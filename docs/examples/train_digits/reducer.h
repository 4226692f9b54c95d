// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sparsecoll/sparsecoll.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "options.h"

namespace train {

/// The configuration of the communicator that a mode needs.
sparsecollConfig_t config_for(Mode mode);

/// All that data-parallel training asks of sparsecoll: the mean of the ranks' gradients, with what
/// was not delivered kept in one residual for the next step.
class Reducer {
 public:
  /// For gradients of `count` values over `comm`, which was made with config_for(options.mode).
  Reducer(const Options& options, std::size_t count, sparsecollComm_t comm);
  ~Reducer();
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  /// Collective: `mean` becomes the same on every rank.
  void average(std::span<const float> gradient, std::span<float> mean);

  /// All that this rank has sent so far.
  std::uint64_t bytes_sent() const;

 private:
  Mode mode_;
  std::size_t k_;
  sparsecollComm_t comm_;
  sparsecollResidual_t residual_ = nullptr;
};

}  // namespace train
