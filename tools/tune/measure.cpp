// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "measure.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <set>

#include "api/communicator.hpp"
#include "api/handles.hpp"
#include "common/baselines.hpp"
#include "common/machine.hpp"
#include "common/timing.hpp"
#include "common/vectors.hpp"

namespace sparsecoll::tune {

namespace {

using perf::require;

/// A call that takes longer is not measured with a vector of this length.
constexpr double kLongest = 4;
/// Longer vectors are not selected from: the time is proportional to the length by then.
constexpr std::size_t kLongestLocal = std::size_t{1} << 24;

/// Returns the median time of a call, over the slowest rank of each. Makes as many calls as fit
/// into a third of a second, but at least 3. Collective.
double seconds_of(perf::Ranks& ranks, const std::function<void()>& call) {
  ranks.barrier();
  const double start = ranks.now();
  call();
  const auto first = ranks.gather_value(ranks.now() - start);
  constexpr double kLong = 0.3;
  const double about = std::ranges::max(first);
  perf::Options options;
  options.combine = "max";
  options.warmup = about > kLong ? 0 : 2;
  options.iterations = static_cast<int>(std::clamp(kLong / std::max(about, 1e-6), 3.0, 31.0));
  return perf::measure(
             ranks, options, [] {}, call)
      .median;
}

std::vector<float> vector_of(perf::Ranks& ranks, std::size_t count) {
  perf::Options options;
  options.overlap = 0.5;
  std::vector<float> values(count);
  perf::generated_vectors<float>(count, ranks.size(), options)->fill(ranks.rank(), 0, values);
  return values;
}

perf::Communicator connect(perf::Ranks& ranks, sparsecollAlgo_t algorithm, bool reordered) {
  sparsecollConfig_t config = SPARSECOLL_CONFIG_INITIALIZER;
  config.algorithm = algorithm;
  config.allowReordered = reordered ? 1 : 0;
  config.device = SPARSECOLL_DEVICE_HOST;
  return ranks.connect(config);
}

/// Calls of sparseAllreduce on one communicator, with a residual if entries are selected.
class Calls {
 public:
  Calls(const std::vector<float>& send, std::size_t k, const perf::Communicator& comm)
      : send_(send), recv_(send.size()), k_(k), comm_(comm) {
    if (k < send.size()) residual_ = perf::Residual(send.size(), sparsecollFloat32, comm.get());
  }
  void call() {
    require(sparseAllreduce(send_.data(), recv_.data(), send_.size(), k_, sparsecollFloat32,
                            sparsecollSum, residual_.get(), comm_.get(), nullptr),
            comm_.get(), "sparseAllreduce");
  }

 private:
  const std::vector<float>& send_;
  std::vector<float> recv_;
  std::size_t k_;
  const perf::Communicator& comm_;
  perf::Residual residual_;
};

/// Times a dense allreduce of one length. Collective.
class DenseTimer {
 public:
  DenseTimer(perf::Ranks& ranks, bool over_mpi) : ranks_(ranks), over_mpi_(over_mpi) {
    if (!over_mpi) comm_.emplace(connect(ranks, sparsecollAlgoDense, false));
  }
  double seconds(const std::vector<float>& send) {
    if (!over_mpi_) {
      Calls calls(send, send.size(), *comm_);
      return seconds_of(ranks_, [&] { calls.call(); });
    }
    perf::Task<float> task;
    task.n = send.size();
    task.ranks = ranks_.size();
    task.dense = send;
    const auto runner = perf::make_baseline<float>("mpi-dense", task);
    return seconds_of(ranks_, [&] { runner->call(); });
  }

 private:
  perf::Ranks& ranks_;
  const bool over_mpi_;
  std::optional<perf::Communicator> comm_;
};

/// Takes the median of a few measurements: another process may disturb one.
void measure_network(const Options& options, perf::Ranks& ranks, Measured& measured) {
  constexpr std::size_t kTries = 5;
  const perf::Communicator comm = connect(ranks, sparsecollAlgoAuto, options.reordered);
  std::vector<double> alpha, beta;
  for (std::size_t i = 0; i < kTries; ++i) {
    require(sparsecollCommMeasure(comm.get()), comm.get(), "sparsecollCommMeasure");
    const auto internal = communicators().find(comm.get());
    const std::optional<Network>& network = internal->network_model().network;
    if (!network) return;
    alpha.push_back(network->alpha);
    beta.push_back(network->beta);
    measured.nodes = internal->network_model().nodes;
  }
  measured.network = {perf::summary(alpha).median, perf::summary(beta).median, kGammaOnHost};
}

/// Returns the time in which Oktopk packs, unpacks and adds: the least of a few calls. Collective.
double working_seconds(perf::Ranks& ranks, const std::vector<float>& send, std::size_t k,
                       const perf::Communicator& comm) {
  constexpr int kCalls = 4;
  Calls calls(send, k, comm);
  std::vector<double> seconds;
  for (int i = 0; i < kCalls; ++i) {
    ranks.barrier();
    calls.call();
    const sparsecollStats_t stats = comm.last_stats();
    seconds.push_back(
        std::ranges::max(ranks.gather_value(stats.packSeconds + stats.reduceSeconds)));
  }
  return perf::summary(seconds).minimum;
}

/// Compares two densities, because the time also has a part that grows with the length of the
/// vector. The entries are those of Oktopk's formula (reduce_and_gather_seconds).
void measure_entries(perf::Ranks& ranks, std::size_t longest, Measured& measured) {
  constexpr std::size_t kEnough = std::size_t{1} << 22;
  const std::vector<float> send = vector_of(ranks, std::min(longest, kEnough));
  const perf::Communicator comm = connect(ranks, sparsecollAlgoOktopk, false);
  const std::size_t few = entries_of(0.003, send.size()), many = entries_of(0.03, send.size());
  if (few == many) return;
  const double more =
      working_seconds(ranks, send, many, comm) - working_seconds(ranks, send, few, comm);
  const double sent = static_cast<double>(ranks.size() - 1) / ranks.size();
  measured.entry_seconds = std::max(more / (sent * 1.5 * static_cast<double>(many - few)), 1e-10);
}

/// Measures each length, after shorter ones that tell whether it would take too long.
void measure_dense(const Options& options, perf::Ranks& ranks, Measured& measured) {
  const bool over_mpi = options.world.transport == "mpi";
  measured.dense_name = over_mpi ? "MPI_Allreduce" : "the library's dense allreduce";
  DenseTimer timer(ranks, over_mpi);
  std::set<std::size_t> lengths;
  for (const std::size_t count : options.counts)
    for (const std::size_t part : {64, 8, 1})
      lengths.insert(std::max<std::size_t>(count / part, 1));
  for (const std::size_t length : lengths) {
    if (!measured.dense.empty()) {
      const auto& [count, seconds] = measured.dense.back();
      if (seconds * static_cast<double>(length) / static_cast<double>(count) > kLongest) break;
    }
    measured.dense.push_back({length, timer.seconds(vector_of(ranks, length))});
  }
}

/// Returns the threads that a rank has if all ranks work together.
int threads_of(const perf::Communicator& comm) {
  sparsecollTopology_t place = SPARSECOLL_TOPOLOGY_INITIALIZER;
  require(sparsecollCommGetTopology(comm.get(), &place), comm.get(), "sparsecollCommGetTopology");
  return place.threads;
}

/// Makes a communicator of this rank alone, with so many threads: by itself it would take the CPUs
/// of the other ranks, too. No rank may read variables meanwhile: ranks that are threads share
/// them.
perf::Communicator connect_alone(int threads) {
  constexpr const char* kVariable = "SPARSECOLL_THREADS";
  static std::mutex one_at_a_time;
  const std::scoped_lock lock(one_at_a_time);
  const char* const before = std::getenv(kVariable);
  const std::string old = before ? before : "";
  setenv(kVariable, std::to_string(threads).c_str(), 1);
  perf::Communicator comm = perf::connect_single_rank();
  if (before)
    setenv(kVariable, old.c_str(), 1);
  else
    unsetenv(kVariable);
  return comm;
}

void measure_local(const Options& options, perf::Ranks& ranks, Measured& measured) {
  const perf::Communicator all = connect(ranks, sparsecollAlgoAuto, options.reordered);
  ranks.barrier();
  const perf::Communicator single = connect_alone(threads_of(all));
  ranks.barrier();
  for (const std::size_t count : options.counts) {
    const std::size_t length = std::min(count, kLongestLocal);
    if (!measured.local.empty() && measured.local.back().timed.count == length) break;
    const std::vector<float> send = vector_of(ranks, length);
    for (const double density : options.densities) {
      Calls calls(send, entries_of(density, length), single);
      measured.local.push_back({density, {length, seconds_of(ranks, [&] { calls.call(); })}});
    }
  }
}

}  // namespace

std::size_t entries_of(double density, std::size_t count) {
  const double entries = std::round(density * static_cast<double>(count));
  return std::clamp<std::size_t>(static_cast<std::size_t>(entries), 1, count);
}

Measured measure(const Options& options, perf::Ranks& ranks) {
  Measured measured;
  measured.ranks = ranks.size();
  measured.transport = options.world.transport;
  measured.placement = perf::describe_machine(ranks).placement;
  measured.dense_name = "a dense allreduce";
  if (ranks.size() > 1) {
    measure_network(options, ranks, measured);
    measure_entries(ranks, options.counts.back(), measured);
    measure_dense(options, ranks, measured);
  }
  measure_local(options, ranks, measured);
  return measured;
}

double measure_call(const Options& options, perf::Ranks& ranks, std::size_t count, std::size_t k) {
  const perf::Communicator comm = connect(ranks, sparsecollAlgoAuto, options.reordered);
  const std::vector<float> send = vector_of(ranks, count);
  Calls calls(send, k, comm);
  calls.call();  // measures the network
  return seconds_of(ranks, [&] { calls.call(); });
}

}  // namespace sparsecoll::tune
