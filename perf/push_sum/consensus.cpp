// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "push_sum/consensus.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "common/record.hpp"
#include "common/report.hpp"
#include "push_sum/state.hpp"
#include "simulated/options.hpp"

namespace sparsecoll::perf {
namespace {

/// The configuration of one row.
struct Shape {
  std::string graph;
  int delay;
  std::size_t n;
  std::size_t k;
};

/// The measurement of one row.
struct Result {
  std::vector<double> error;    ///< error after each step, relative to the initial one
  std::vector<double> seconds;  ///< time of each step on the slowest rank
  std::size_t bytes_sent = 0;   ///< bytes sent in the last step by the rank that sends most
  std::optional<std::size_t> wrong;
};

std::string scientific(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2e", value);
  return text;
}

template <class T>
class Consensus {
 public:
  Consensus(const PushSumOptions& options, Ranks& ranks, Storage& storage)
      : options_(options),
        ranks_(ranks),
        storage_(storage),
        machine_(describe_machine(ranks, storage)),
        table_(columns(), ranks.rank() != 0),
        json_(ranks.rank() == 0 ? options.run.json : "") {}

  int run() {
    push_sum_header(table_, options_, machine_, ranks_.size());
    table_.comment("time: of a step on the slowest rank; error: of the estimates, relative to the");
    table_.comment("initial one; steps: until it is below 1e-3; wire: sent in the last step");
    table_.comment("");
    table_.titles();
    std::size_t wrong = 0;
    for (const std::size_t n : lengths(options_.run, sizeof(T)))
      for (const std::string& graph : options_.graphs)
        for (const int delay : options_.delays)
          for (const double density : options_.densities) {
            const auto k = static_cast<std::size_t>(std::ceil(density * static_cast<double>(n)));
            const Shape shape{graph, delay, n, k};
            const Result result = measure_shape(shape);
            wrong += result.wrong.value_or(0);
            report(shape, result);
          }
    return conclude(table_, options_.run.check ? std::optional(wrong) : std::nullopt);
  }

 private:
  static std::vector<Table::Column> columns() {
    return {{"size", "(B)", 11},      {"count", "(elem)", 10},  {"graph", "", 12},
            {"maxDelay", "", 8},      {"density", "(k/n)", 8},  {"type", "", 8},
            {"time avg", "(us)", 10}, {"min", "(us)", 10},      {"median", "(us)", 10},
            {"max", "(us)", 10},      {"wire", "(B/rank)", 12}, {"error", "at the end", 11},
            {"steps", "to 1e-3", 8},  {"#wrong", "", 6}};
  }

  Result measure_shape(const Shape& shape) {
    sparsecollPushSumConfig_t config = push_sum_config(shape.graph, shape.delay);
    config.k = shape.k;
    config.mixing = shape.k > 0 ? options_.mixing : 1;
    const std::vector<T> start = noisy_vector<T>(options_.run.seed, ranks_.rank(), shape.n);
    PushSumRun<T> run(ranks_, storage_, config, start);
    const std::vector<double> sum = sum_over_ranks(start);
    const double before = distance_from_mean(start, sum);
    std::vector<double> mine, error;
    ranks_.barrier();
    for (int step = 0; step < options_.steps; ++step) {
      const double begin = ranks_.now();
      run.step();
      mine.push_back(ranks_.now() - begin);
      error.push_back(distance_from_mean(run.estimate(), sum));  // this is also a barrier
    }
    Result result;
    for (const double each : error) result.error.push_back(before > 0 ? each / before : 0);
    result.seconds = slowest(mine);
    result.bytes_sent = largest(run.bytes_sent());
    if (options_.run.check) result.wrong = count_wrong(run, sum);
    return result;
  }

  std::vector<double> sum_over_ranks(std::span<const T> x) {
    std::vector<double> sum(x.size(), 0.0);
    for (const std::vector<T>& each : ranks_.gather(x))
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(each[i]);
    return sum;
  }

  /// Returns the Euclidean distance of all ranks' vectors from the mean. Collective.
  double distance_from_mean(std::span<const T> x, const std::vector<double>& sum) {
    double own = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double off = static_cast<double>(x[i]) - sum[i] / ranks_.size();
      own += off * off;
    }
    const std::vector<double> all = ranks_.gather_value(own);
    return std::sqrt(std::accumulate(all.begin(), all.end(), 0.0));
  }

  std::vector<double> slowest(const std::vector<double>& mine) {
    std::vector<double> most(mine.size(), 0.0);
    for (const auto& each : ranks_.gather(std::span<const double>(mine)))
      for (std::size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], each[i]);
    return most;
  }

  std::size_t largest(std::size_t mine) {
    const std::vector<std::size_t> all = ranks_.gather_value(mine);
    return *std::ranges::max_element(all);
  }

  /// Drains the state and returns the number of entries whose sum over ranks has changed by more
  /// than rounding explains. Values are below 1 at first, and steps only mix them. A step rounds
  /// each value a few times, by at most epsilon / 2. A sum that differs by more than all of these
  /// together has lost a part.
  std::size_t count_wrong(PushSumRun<T>& run, const std::vector<double>& sum) {
    run.drain();
    const double epsilon = std::numeric_limits<T>::epsilon();
    const double tolerance = epsilon * ranks_.size() * (8 + 2.0 * options_.steps);
    const std::vector<double> after = sum_over_ranks(run.x());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < sum.size(); ++i)
      if (!(std::fabs(after[i] - sum[i]) <= tolerance)) ++wrong;
    const std::vector<double> weights = ranks_.gather_value(run.weight());
    const double weight = std::accumulate(weights.begin(), weights.end(), 0.0);
    const double off =
        std::numeric_limits<double>::epsilon() * ranks_.size() * (8 + 2.0 * options_.steps);
    return std::fabs(weight - ranks_.size()) <= off ? wrong : wrong + 1;
  }

  void report(const Shape& shape, const Result& result) {
    std::vector<double> sorted = result.seconds;
    std::ranges::sort(sorted);
    const double average =
        std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size());
    const auto close = std::ranges::find_if(result.error, [](double e) { return e < 1e-3; });
    const bool reached = close != result.error.end();
    const auto steps = close - result.error.begin() + 1;
    const double density =
        shape.n > 0 ? static_cast<double>(shape.k) / static_cast<double>(shape.n) : 0;
    table_.row({std::to_string(shape.n * sizeof(T)), std::to_string(shape.n), shape.graph,
                std::to_string(shape.delay), shape.k > 0 ? number(density) : "all",
                options_.run.datatype, microseconds(average), microseconds(sorted.front()),
                microseconds(sorted[sorted.size() / 2]), microseconds(sorted.back()),
                std::to_string(result.bytes_sent), scientific(result.error.back()),
                reached ? std::to_string(steps) : "-", count_or_na(result.wrong)});
    nlohmann::ordered_json row = run_json(options_.run, machine_, ranks_.size());
    row["experiment"] = "consensus";
    row["graph"] = shape.graph;
    row["max_delay"] = shape.delay;
    row["bytes"] = shape.n * sizeof(T);
    row["count"] = shape.n;
    row["k"] = shape.k;
    row["density"] = density;
    row["mixing"] = shape.k > 0 ? options_.mixing : 1.0;
    row["time_avg_us"] = average * 1e6;
    row["time_median_us"] = sorted[sorted.size() / 2] * 1e6;
    row["wire_bytes"] = result.bytes_sent;
    row["errors"] = result.error;
    row["seconds"] = result.seconds;
    row["wrong"] = result.wrong ? nlohmann::ordered_json(*result.wrong) : nullptr;
    json_.write(row);
  }

  const PushSumOptions& options_;
  Ranks& ranks_;
  Storage& storage_;
  Machine machine_;
  Table table_;
  JsonFile json_;
};

}  // namespace

int measure_consensus(const PushSumOptions& options, Ranks& ranks, Storage& storage) {
  if (options.run.datatype == "float64") return Consensus<double>(options, ranks, storage).run();
  return Consensus<float>(options, ranks, storage).run();
}

void push_sum_header(const Table& table, const PushSumOptions& options, const Machine& machine,
                     int ranks) {
  const std::string mpi = mpi_version();
  table.comment(options.run.program + "  sparsecoll " + library_version() +
                (mpi.empty() ? "" : "  (" + mpi + ")"));
  table.comment("ranks: " + std::to_string(ranks) + transport_text(options.run.transport) + ": " +
                machine.placement + "; cores of a host: " + std::to_string(machine.cores) +
                (machine.kind.empty() ? "" : ", " + machine.kind) + "; " + memory_of(machine));
  if (options.run.transport == "simulated") table.comment(describe(options.run.network));
  table.comment("steps: " + std::to_string(options.steps) +
                "; seed: " + std::to_string(options.run.seed));
}

}  // namespace sparsecoll::perf
