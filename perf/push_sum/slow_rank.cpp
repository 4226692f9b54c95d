// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// In each step every rank works for some time, a random rank longer than the others. Then the ranks
// average. Instead of working, ranks sleep, so that a few cores are enough for many ranks.
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "common/baselines.hpp"
#include "common/record.hpp"
#include "common/report.hpp"
#include "push_sum/consensus.hpp"
#include "push_sum/state.hpp"

namespace sparsecoll::perf {
namespace {

template <class T>
class SlowRank {
 public:
  SlowRank(const PushSumOptions& options, Ranks& ranks, Storage& storage)
      : options_(options),
        ranks_(ranks),
        storage_(storage),
        machine_(describe_machine(ranks, storage)),
        table_(columns(), ranks.rank() != 0),
        json_(ranks.rank() == 0 ? options.run.json : "") {}

  int run() {
    push_sum_header(table_, options_, machine_, ranks_.size());
    table_.comment("work of a step: " + number(options_.work_ms) + " ms of sleep, " +
                   number(options_.slow_factor) + " times that on one random rank");
    table_.comment("own: mean work of a rank; x own: mean step over it; 1 = no rank waits");
    table_.comment("");
    table_.titles();
    for (const std::size_t n : lengths(options_.run, sizeof(T))) {
      for (const std::string& graph : options_.graphs)
        for (const int delay : options_.delays) {
          const auto run =
              std::make_shared<PushSumRun<T>>(ranks_, storage_, push_sum_config(graph, delay),
                                              noisy_vector<T>(1, ranks_.rank(), n));
          report({graph, std::to_string(delay), n}, [run] { run->step(); });
        }
      report_allreduce(n);
    }
    return conclude(table_, std::nullopt);
  }

 private:
  /// The method of averaging between two phases of work.
  struct Method {
    std::string name;
    std::string delay;
    std::size_t n;
  };

  static std::vector<Table::Column> columns() {
    return {{"size", "(B)", 11}, {"count", "(elem)", 10},   {"method", "", 14},
            {"maxDelay", "", 8}, {"mean step", "(ms)", 10}, {"own", "(ms)", 8},
            {"x own", "", 7}};
  }

  void report_allreduce(std::size_t n) {
    const std::vector<T> x = noisy_vector<T>(1, ranks_.rank(), n);
    const Array<T> mine(storage_, x), sum(storage_, n);
    sparsecollConfig_t config = SPARSECOLL_CONFIG_INITIALIZER;
    config.device = storage_.device();
    config.algorithm = sparsecollAlgoDense;
    const Communicator comm = ranks_.connect(config);
    report({"dense", "-", n}, [&] {
      require(sparseAllreduce(mine.data(), sum.data(), n, n, datatype_of<T>(), sparsecollAvg,
                              nullptr, comm.get(), storage_.stream()),
              comm.get(), "sparseAllreduce");
      storage_.wait();
    });
    if (options_.run.transport != "mpi" || options_.run.memory != "host") return;
    Task<T> task;
    task.n = task.k = n;
    task.ranks = ranks_.size();
    task.dense = x;
    const auto baseline = make_baseline<T>("mpi-dense", task);
    report({"mpi-dense", "-", n}, [&] { baseline->call(); });
  }

  void report(const Method& method, const std::function<void()>& exchange) {
    const double work = options_.work_ms * 1e-3;
    ranks_.barrier();
    const double begin = ranks_.now();
    double own = 0;
    for (int step = 0; step < options_.steps; ++step) {
      const double dice =
          (noise(options_.run.seed, static_cast<std::uint64_t>(step), 7) + 1) / 2 * ranks_.size();
      const double mine =
          static_cast<int>(dice) == ranks_.rank() ? work * options_.slow_factor : work;
      ranks_.sleep(mine);
      own += mine;
      exchange();
    }
    const double spent = ranks_.now() - begin;
    const double step = mean(spent) / options_.steps, alone = mean(own) / options_.steps;
    table_.row({std::to_string(method.n * sizeof(T)), std::to_string(method.n), method.name,
                method.delay, number(step * 1e3), number(alone * 1e3), number(step / alone)});
    nlohmann::ordered_json row = run_json(options_.run, machine_, ranks_.size());
    row["experiment"] = "slow rank";
    row["method"] = method.name;
    row["max_delay"] = method.delay;
    row["bytes"] = method.n * sizeof(T);
    row["count"] = method.n;
    row["steps"] = options_.steps;
    row["work_ms"] = options_.work_ms;
    row["slow_factor"] = options_.slow_factor;
    row["step_ms"] = step * 1e3;
    row["own_ms"] = alone * 1e3;
    row["times_own"] = step / alone;
    json_.write(row);
  }

  double mean(double mine) {
    const std::vector<double> all = ranks_.gather_value(mine);
    return std::accumulate(all.begin(), all.end(), 0.0) / ranks_.size();
  }

  const PushSumOptions& options_;
  Ranks& ranks_;
  Storage& storage_;
  Machine machine_;
  Table table_;
  JsonFile json_;
};

}  // namespace

int measure_slow_rank(const PushSumOptions& options, Ranks& ranks, Storage& storage) {
  if (options.run.datatype == "float64") return SlowRank<double>(options, ranks, storage).run();
  return SlowRank<float>(options, ranks, storage).run();
}

}  // namespace sparsecoll::perf
