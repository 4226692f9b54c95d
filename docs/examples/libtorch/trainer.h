// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <sparsecoll/sparsecoll.hpp>

#include "data.h"

namespace train {

/// How ranks combine gradients, or models.
struct Mode {
  const char* name;
  int algorithm;  ///< a sparsecollAlgo_t
  bool dense;     ///< k = n
  bool gtopk;     ///< by gtopkAllreduce
  bool gossip;    ///< by push-sum
};

/// All modes; the first is dense.
std::span<const Mode> all_modes();

struct Settings {
  std::size_t epochs = 8;
  std::size_t batch = 16;  ///< images per rank and step
  std::uint64_t seed = 1;
  double density = 0.05;           ///< k / n
  std::size_t dense_below = 2000;  ///< parameters of fewer values are sent whole
  double learning_rate = 0.2;      ///< a tenth of it in the last third of the epochs
  double momentum = 0.5;
};

/// The images. All ranks have all of them.
struct Dataset {
  Digits training;
  Digits test;
};

/// What a training has reached, as rank 0 sees it.
struct Outcome {
  double accuracy = 0;           ///< of the common model on the test images, 0 to 1
  double loss = 0;               ///< mean of the last epoch, over this rank's images
  std::uint64_t bytes_sent = 0;  ///< by this rank, without the last mean of models
  double seconds = 0;
  double waiting = 0;  ///< seconds of these in wait(), or in steps of push-sum
};

/// Returns the configuration of a communicator for train().
sparsecoll::Config config_for(const Mode& mode, const Settings& settings);

/// Trains together with the other ranks of `comm`. Throws if a call fails or if the ranks end with
/// different models. Collective.
Outcome train(const Mode& mode, const Settings& settings, const Dataset& data,
              sparsecoll::Communicator& comm);

}  // namespace train
