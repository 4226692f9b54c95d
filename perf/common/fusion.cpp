// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/fusion.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "common/library.hpp"
#include "common/record.hpp"

namespace sparsecoll::perf {
namespace {

/// One tensor on this rank. It must not be moved, because task and checker point into it.
template <class T>
struct Tensor {
  std::unique_ptr<Vectors<T>> vectors;
  std::vector<T> dense;
  Entries<Wide<T>> selection, by_shard;
  Task<T> task;
  std::unique_ptr<Checker<T>> checker;
};

/// One size of groups, and its measurement.
struct Trial {
  std::size_t bytes = 0;  ///< 0: every tensor is a group of its own
  std::vector<std::size_t> starts;
  std::optional<Times> times;  ///< times of a step, which reduces all tensors
  double wire_bytes = 0;       ///< bytes sent in a step by the rank that sends most
  std::optional<std::size_t> wrong;
};

/// Returns sizes that are powers of two, each of which makes fewer groups than the one before.
std::vector<Trial> trials_of(std::span<const std::size_t> counts, std::size_t element) {
  const std::size_t all = std::accumulate(counts.begin(), counts.end(), std::size_t{0}) * element;
  std::vector<Trial> trials;
  trials.emplace_back().starts = group_starts(counts, element, 0);
  for (std::size_t bytes = 1; trials.back().starts.size() > 1; bytes *= 2) {
    Trial trial;
    trial.bytes = std::min(bytes, all);
    trial.starts = group_starts(counts, element, trial.bytes);
    if (trial.starts.size() < trials.back().starts.size()) trials.push_back(std::move(trial));
  }
  return trials;
}

std::vector<Table::Column> columns() {
  return {{"algo", "", 10},           {"density", "(k/n)", 8},  {"fusion", "(B)", 11},
          {"groups", "a step", 7},    {"time avg", "(us)", 10}, {"min", "(us)", 10},
          {"median", "(us)", 10},     {"max", "(us)", 10},      {"wire", "(B/rank)", 12},
          {"faster", "(x alone)", 9}, {"#wrong", "", 6}};
}

template <class T>
class FusionSearch {
 public:
  FusionSearch(const Options& options, Ranks& ranks, Storage& storage)
      : options_(options),
        ranks_(ranks),
        storage_(storage),
        counts_(read_tensors(options.tensors)),
        library_(ranks, options, storage),
        machine_(describe_machine(ranks, storage)),
        table_(columns(), ranks.rank() != 0),
        json_(ranks.rank() == 0 ? options.json : ""),
        progress_(options.progress, ranks.rank() != 0) {}

  int run() {
    record_header(table_, options_, machine_, ranks_.size());
    table_.comment(std::to_string(counts_.size()) + " tensors of " + std::to_string(total()) +
                   " values in all; a step reduces all of them, in groups of at most fusion bytes");
    table_.comment("wire: sent in a step by the busiest rank, mean over all steps");
    table_.comment("");
    table_.titles();
    for (const double density : options_.densities) {
      make_tensors(density);
      for (const std::string& name : options_.algorithms) search(name, density);
    }
    progress_.clear();
    return conclude(table_, options_.check ? std::optional(wrong_) : std::nullopt);
  }

 private:
  std::size_t total() const {
    return std::accumulate(counts_.begin(), counts_.end(), std::size_t{0});
  }

  void make_tensors(double density) {
    Options mine = options_;
    mine.densities = {density};
    tensors_.clear();
    for (const std::size_t n : counts_) {
      Tensor<T>& tensor = tensors_.emplace_back();
      tensor.vectors = generated_vectors<T>(n, ranks_.size(), mine);
      ++mine.seed;  // other data for the next tensor
      tensor.dense.resize(n);
      tensor.vectors->fill(ranks_.rank(), 0, tensor.dense);
      Task<T>& task = tensor.task;
      task.n = n;
      task.k = selections(mine, n).front();
      task.ranks = ranks_.size();
      task.average = options_.op == "avg";
      task.feedback = options_.feedback;
      task.dense = tensor.dense;
      if (options_.check) add_checker(tensor);
    }
  }

  void add_checker(Tensor<T>& tensor) {
    Task<T>& task = tensor.task;
    std::vector<Wide<T>> buffer;
    const std::span<const Wide<T>> wide = widened<T>(task.dense, buffer);
    tensor.selection = top_k<Wide<T>>(wide, task.k);
    task.entries = &tensor.selection;
    if (std::ranges::count(options_.algorithms, "topka2a") > 0) {
      tensor.by_shard = top_k_by_shard<Wide<T>>(wide, task.k, static_cast<std::size_t>(task.ranks));
      task.by_shard = &tensor.by_shard;
    }
    if (std::ranges::count(options_.algorithms, kSharded) > 0) task.nodes = library_.nodes();
    tensor.checker = std::make_unique<Checker<T>>(task, ranks_, *tensor.vectors);
  }

  void search(const std::string& name, double density) {
    name_ = name;
    density_ = density;
    runners_.clear();
    for (const Tensor<T>& tensor : tensors_) {
      runners_.push_back(library_.make<T>(name, tensor.task));
    }
    std::vector<Trial> trials = trials_of(counts_, sizeof(T));
    const Trial& alone = trials.front();
    measure_once(trials.front(), alone);
    measure_once(trials.back(), alone);
    // All ranks have the same times. Hence all take the same branches.
    std::size_t low = 0, high = trials.size() - 1;
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      measure_once(trials[middle], alone);
      measure_once(trials[middle + 1], alone);
      const bool falls = trials[middle + 1].times->minimum < trials[middle].times->minimum;
      (falls ? low : high) = falls ? middle + 1 : middle;
    }
    // Noise may have misled the search, so take the fastest of all trials.
    const Trial& found = *std::ranges::min_element(trials, {}, [](const Trial& trial) {
      return trial.times ? trial.times->minimum : std::numeric_limits<double>::infinity();
    });
    progress_.clear();
    table_.comment(name + ": " + std::to_string(found.bytes) + " bytes found, " +
                   std::to_string(found.starts.size()) +
                   (found.starts.size() == 1 ? " group a step" : " groups a step"));
    json_.write(row(found, alone, true));
  }

  void measure_once(Trial& trial, const Trial& alone) {
    if (trial.times) return;
    progress_.show(name_ + ", groups of " + std::to_string(trial.bytes) + " bytes");
    if (options_.check) check(trial);
    for (const auto& runner : runners_) runner->reset();
    const std::size_t before = bytes_sent();
    const auto prepare = [this] {
      for (const auto& runner : runners_) runner->prepare();
    };
    trial.times = measure(ranks_, options_, prepare, [&] { step(trial); });
    const double steps = options_.warmup + options_.iterations;
    const double sent = static_cast<double>(bytes_sent() - before) / steps;
    trial.wire_bytes = std::ranges::max(ranks_.gather_value(sent));
    report(trial, alone);
  }

  void step(const Trial& trial) {
    const sparsecollComm_t comm = library_.communicator(name_).get();
    for (std::size_t g = 0; g < trial.starts.size(); ++g) {
      const bool last = g + 1 == trial.starts.size();
      const std::size_t end = last ? runners_.size() : trial.starts[g + 1];
      require(sparsecollGroupStart(comm), comm, "sparsecollGroupStart");
      for (std::size_t t = trial.starts[g]; t < end; ++t) runners_[t]->call();
      require(sparsecollGroupEnd(comm), comm, "sparsecollGroupEnd");
    }
    storage_.wait();
  }

  void check(Trial& trial) {
    for (const auto& runner : runners_) {
      runner->reset();
      runner->prepare();
    }
    step(trial);
    std::size_t wrong = 0;
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      wrong += runners_[t]->wrong(*tensors_[t].checker);
    }
    const std::vector<std::size_t> all = ranks_.gather_value(wrong);
    trial.wrong = std::accumulate(all.begin(), all.end(), std::size_t{0});
    wrong_ += *trial.wrong;
  }

  std::size_t bytes_sent() {
    const sparsecollComm_t comm = library_.communicator(name_).get();
    sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
    require(sparsecollCommGetStats(comm, sparsecollStatsTotal, &stats), comm, "statistics");
    return stats.bytesSent;
  }

  void report(const Trial& trial, const Trial& alone) {
    progress_.clear();
    table_.row({name_, number(density_), std::to_string(trial.bytes),
                std::to_string(trial.starts.size()), microseconds(trial.times->average),
                microseconds(trial.times->minimum), microseconds(trial.times->median),
                microseconds(trial.times->maximum), number(trial.wire_bytes),
                number(alone.times->median / trial.times->median), count_or_na(trial.wrong)});
    json_.write(row(trial, alone, false));
  }

  nlohmann::ordered_json row(const Trial& trial, const Trial& alone, bool found) const {
    nlohmann::ordered_json row = run_json(options_, machine_, ranks_.size());
    row["form"] = "fusion";
    row["op"] = options_.op;
    row["algorithm"] = name_;
    row["density"] = density_;
    row["tensors"] = counts_.size();
    row["count"] = total();
    row["fusion_bytes"] = trial.bytes;
    row["groups"] = trial.starts.size();
    row["found"] = found;
    row["time_avg_us"] = trial.times->average * 1e6;
    row["time_min_us"] = trial.times->minimum * 1e6;
    row["time_median_us"] = trial.times->median * 1e6;
    row["time_max_us"] = trial.times->maximum * 1e6;
    row["wire_bytes"] = trial.wire_bytes;
    row["times_faster_than_alone"] = alone.times->median / trial.times->median;
    if (trial.wrong) row["wrong"] = *trial.wrong;
    return row;
  }

  const Options& options_;
  Ranks& ranks_;
  Storage& storage_;
  std::vector<std::size_t> counts_;
  Library library_;
  Machine machine_;
  Table table_;
  JsonFile json_;
  Progress progress_;
  std::deque<Tensor<T>> tensors_;
  std::vector<std::unique_ptr<Runner<T>>> runners_;
  std::string name_;
  double density_ = 0;
  std::size_t wrong_ = 0;
};

}  // namespace

template <class T>
int search_fusion(const Options& options, Ranks& ranks, Storage& storage) {
  return FusionSearch<T>(options, ranks, storage).run();
}

template int search_fusion<float>(const Options&, Ranks&, Storage&);
template int search_fusion<double>(const Options&, Ranks&, Storage&);
template int search_fusion<Float16>(const Options&, Ranks&, Storage&);
template int search_fusion<Bfloat16>(const Options&, Ranks&, Storage&);

}  // namespace sparsecoll::perf
