// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/benchmark.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/algorithm_timer.hpp"
#include "common/floor.hpp"
#include "common/fusion.hpp"
#include "common/input.hpp"
#include "common/library.hpp"
#include "common/record.hpp"
#include "device/device.hpp"

namespace sparsecoll::perf {
namespace {

Form form_of(const std::string& word) {
  if (word == "owners") return Form::kOwners;
  return word == "dense" ? Form::kDense : word == "sparse" ? Form::kSparse : Form::kSum;
}

/// Measures all algorithms on vectors of all lengths and densities, on one rank.
template <class T>
class Benchmark {
 public:
  Benchmark(const Options& options, Ranks& ranks, Storage& storage)
      : options_(options),
        ranks_(ranks),
        storage_(storage),
        library_(ranks, options, storage),
        timer_(options, ranks, storage, library_),
        machine_(describe_machine(ranks, storage)),
        table_(record_columns(options), ranks.rank() != 0),
        json_(ranks.rank() == 0 ? options.json : ""),
        progress_(options.progress, ranks.rank() != 0) {}

  int run() {
    record_header(table_, options_, machine_, ranks_.size());
    table_.titles();
    if (options_.data.empty()) {
      const std::vector<std::size_t> all = lengths(options_, sizeof(T));
      for (std::size_t i = 0; i < all.size(); ++i) {
        where_ = "size " + std::to_string(i + 1) + " of " + std::to_string(all.size());
        run_vectors(*generated_vectors<T>(all[i], ranks_.size(), options_));
      }
    } else {
      run_vectors(*vectors_of_file<T>(options_.data, ranks_.rank()));
    }
    progress_.clear();
    return conclude(table_, options_.check ? std::optional(wrong_) : std::nullopt);
  }

 private:
  void run_vectors(const Vectors<T>& vectors) {
    const std::size_t n = vectors.count();
    for (const std::size_t other : ranks_.gather_value(n)) {
      if (other != n) throw std::runtime_error("--data: the ranks' files differ in length");
    }
    if (n > std::numeric_limits<std::uint32_t>::max()) {
      throw std::runtime_error("vectors of more than 2^32 - 1 values are not measured");
    }
    Input<T> input(options_, ranks_, vectors);
    floor_.reset();
    if (form_of(options_.form) == Form::kDense && options_.memory == "host" &&
        options_.transport != "simulated")
      floor_ = measure_floor<T>(ranks_, options_, input.dense());
    const std::vector<std::size_t> all = selections(options_, n);
    for (const std::size_t k : all) {
      Task<T> task = task_of(n, k);
      input.select(task, k == all.back());
      run_shape(vectors, task);
    }
  }

  Task<T> task_of(std::size_t n, std::size_t k) const {
    Task<T> task;
    task.n = n;
    task.k = k;
    task.ranks = ranks_.size();
    task.average = options_.op == "avg";
    task.form = form_of(options_.form);
    task.feedback = options_.feedback;
    task.rounded = options_.wire != "native";
    task.scaled = options_.wire == "int8";
    if (task.form == Form::kOwners) task.bounds = owners(task.n);
    return task;
  }

  void run_shape(const Vectors<T>& vectors, Task<T>& task) {
    if (options_.check && std::ranges::count(options_.algorithms, kSharded) > 0)
      task.nodes = library_.nodes();
    std::unique_ptr<Checker<T>> checker;
    if (options_.check) checker = std::make_unique<Checker<T>>(task, ranks_, vectors);
    const std::vector<std::string>& names = options_.algorithms;
    // Vectors of algorithms that take turns are in memory at the same time.
    const std::size_t together = options_.rounds == 1 ? 1 : names.size();
    const auto show = [&](const std::string& name) {
      progress_.show(where_ + ", k = " + std::to_string(task.k) + ": " + name);
    };
    std::vector<Record> records;
    for (std::size_t i = 0; i < names.size(); i += together)
      for (Record& each :
           timer_.measure(std::span(names).subspan(i, together), task, checker.get(), show))
        records.push_back(std::move(each));
    finish(records);
  }

  /// Returns the bounds of the index ranges that the ranks own.
  std::vector<std::size_t> owners(std::size_t n) const {
    std::vector<double> share(static_cast<std::size_t>(ranks_.size()));
    for (std::size_t r = 0; r < share.size(); ++r) {
      share[r] = std::pow(static_cast<double>(r + 1), -options_.owner_skew);
    }
    const double all = std::accumulate(share.begin(), share.end(), 0.0);
    std::vector<std::size_t> bounds{0};
    double before = 0;
    for (const double one : share) {
      before += one;
      bounds.push_back(
          std::min(n, static_cast<std::size_t>(before / all * static_cast<double>(n))));
    }
    bounds.back() = n;
    return bounds;
  }

  void finish(std::vector<Record>& records) {
    progress_.clear();
    const bool owners = options_.form == "owners";
    const auto baseline =
        std::ranges::find(records, owners ? "mpi-alltoallv" : "mpi-dense", &Record::algorithm);
    for (Record& record : records) {
      wrong_ += record.wrong.value_or(0);
      if (floor_) record.floor_seconds = floor_->minimum;
      if (baseline != records.end()) {
        // The median is robust against single calls that were disturbed.
        const double faster = baseline->times.median / record.times.median;
        (owners ? record.times_faster_than_mpi : record.times_faster_than_dense) = faster;
      }
      table_.row(record_cells(record, options_, ranks_.size()));
      json_.write(record_json(record, options_, machine_, ranks_.size()));
    }
  }

  const Options& options_;
  Ranks& ranks_;
  Storage& storage_;
  Library library_;
  AlgorithmTimer<T> timer_;
  Machine machine_;
  Table table_;
  JsonFile json_;
  Progress progress_;
  std::string where_ = "file";
  std::optional<Times> floor_;  ///< of the vectors that are measured; none for other forms
  std::size_t wrong_ = 0;
};

template <class T>
int run_as(const Options& options, Ranks& ranks) {
  const std::unique_ptr<Storage> storage = make_storage(options, ranks);
  return options.tensors.empty() ? Benchmark<T>(options, ranks, *storage).run()
                                 : search_fusion<T>(options, ranks, *storage);
}

}  // namespace

int run_allreduce_program(int argc, char** argv, const Program& program) {
  int status = 0;
  const std::optional<Options> options = parse(argc, argv, program, &status);
  if (!options) return status;
  if (options->memory != "host" && !find_device(program.name)) return kNoDevice;
  return launch(options->world(), [&](Ranks& ranks) {
    if (options->datatype == "float16") return run_as<Float16>(*options, ranks);
    if (options->datatype == "bfloat16") return run_as<Bfloat16>(*options, ranks);
    if (options->datatype == "float64") return run_as<double>(*options, ranks);
    return run_as<float>(*options, ranks);
  });
}

}  // namespace sparsecoll::perf
