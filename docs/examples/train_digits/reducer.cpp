// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "reducer.h"

#include <algorithm>
#include <cmath>

#include "world.h"

namespace train {
namespace {

std::size_t entries_to_keep(double density, std::size_t count) {
  const double k = std::round(density * static_cast<double>(count));
  return std::max<std::size_t>(1, static_cast<std::size_t>(k));
}

}  // namespace

sparsecollConfig_t config_for(Mode mode) {
  sparsecollConfig_t config = SPARSECOLL_CONFIG_INITIALIZER;
  config.timeoutMs = 60000;  // a step takes milliseconds: a minute without news is a failure
  switch (mode) {
    case Mode::dense:
      config.algorithm = sparsecollAlgoDense;
      break;
    case Mode::topk:
      config.algorithm = sparsecollAlgoAllgather;
      break;
    case Mode::oktopk:
      config.algorithm = sparsecollAlgoOktopk;
      break;
    case Mode::gtopk:  // another verb: no algorithm to choose
      break;
  }
  return config;
}

Reducer::Reducer(const Options& options, std::size_t count, sparsecollComm_t comm)
    : mode_(options.mode), k_(entries_to_keep(options.density, count)), comm_(comm) {
  require(sparsecollResidualCreate(&residual_, count, sparsecollFloat32, comm_), comm_);
}

Reducer::~Reducer() { sparsecollResidualDestroy(residual_); }

void Reducer::average(std::span<const float> gradient, std::span<float> mean) {
  const auto verb = mode_ == Mode::gtopk ? gtopkAllreduce : sparseAllreduce;
  require(verb(gradient.data(), mean.data(), gradient.size(), k_, sparsecollFloat32, sparsecollAvg,
               residual_, comm_, nullptr),
          comm_);
}

std::uint64_t Reducer::bytes_sent() const {
  sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
  require(sparsecollCommGetStats(comm_, sparsecollStatsTotal, &stats), comm_);
  return stats.bytesSent;
}

}  // namespace train
