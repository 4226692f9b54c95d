// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data.h"
#include "options.h"
#include "world.h"

namespace train {

/// The images. The ranks of a process share them.
struct Dataset {
  Digits training;
  Digits test;
};

/// Splits the images: the first three quarters for training, the others as test images.
Dataset hold_out(const Digits& training);

/// Trains together with the other ranks of `world`; rank 0 reports. Throws std::runtime_error if a
/// call of sparsecoll fails, if ranks differ with --check, or if a file cannot be written.
/// Collective.
void train(const Options& options, const Dataset& dataset, World& world);

}  // namespace train
