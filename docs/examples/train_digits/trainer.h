// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data.h"
#include "options.h"
#include "world.h"

namespace train {

/// The images; every rank of a process reads the same ones.
struct Dataset {
  Digits training;
  Digits test;
};

/// The first three quarters of the images for training, the last for judging.
Dataset hold_out(const Digits& training);

/// Trains on this rank together with all others of `world`; rank 0 reports. Throws
/// std::runtime_error when a call of sparsecoll fails, when the ranks of --check differ, or when a
/// file cannot be written.
void train(const Options& options, const Dataset& dataset, World& world);

}  // namespace train
