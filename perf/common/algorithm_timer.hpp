// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/algorithm_words.hpp"
#include "common/baselines.hpp"
#include "common/checker.hpp"
#include "common/half.hpp"
#include "common/library.hpp"
#include "common/model.hpp"
#include "common/options.hpp"
#include "common/ranks.hpp"
#include "common/record.hpp"
#include "common/runner.hpp"
#include "common/storage.hpp"
#include "common/timing.hpp"

namespace sparsecoll::perf {

/// Measures algorithms on vectors of one shape: the library's and MPI's, on one rank of all.
template <class T>
class AlgorithmTimer {
 public:
  using Show = std::function<void(const std::string& name)>;

  AlgorithmTimer(const Options& options, Ranks& ranks, Storage& storage, Library& library)
      : options_(options), ranks_(ranks), storage_(storage), library_(library) {}

  /// Measures these algorithms by turns, in options.rounds rounds. `checker`: null, if results are
  /// not checked. `show` is told which algorithm is measured now. Collective.
  std::vector<Record> measure(std::span<const std::string> names, const Task<T>& task,
                              const Checker<T>* checker, const Show& show) {
    std::vector<Measured> all;
    for (const std::string& name : names) {
      show(name);
      all.push_back(begin(name, task, checker));
    }
    for (int round = 0; round < options_.rounds; ++round)
      for (std::size_t i = 0; i < names.size(); ++i) {
        show(names[i]);
        all[i].timing.add(calls_of_round(options_.iterations, round, options_.rounds));
      }
    std::vector<Record> records;
    for (std::size_t i = 0; i < names.size(); ++i)
      records.push_back(end(names[i], task, checker, all[i]));
    return records;
  }

 private:
  /// An algorithm that is being measured.
  struct Measured {
    bool own;  ///< the library's, not a baseline
    std::unique_ptr<Runner<T>> runner;
    std::size_t wrong;
    Timing timing;
  };

  /// Checks a call, and makes the calls before the timed ones.
  Measured begin(const std::string& name, const Task<T>& task, const Checker<T>* checker) {
    const bool own = std::ranges::count(baseline_names(), name) == 0;
    auto made = own ? library_.make<T>(name, task) : baseline(name, task);
    Runner<T>* const runner = made.get();
    // Check twice: a first call here, and in end() a call that uses the cache of earlier calls.
    const std::size_t wrong = checker != nullptr ? check(*runner, *checker) : 0;
    runner->reset();
    std::function<void()> timed = [runner] { runner->call(); };
    if (options_.graph) {
      runner->prepare();
      call(*runner);  // only a shape that was called before can be captured
      timed = storage_.capture(timed);
    }
    Measured measured{own, std::move(made), wrong,
                      Timing(
                          ranks_, options_, [runner] { runner->prepare(); },
                          [this, timed] {
                            timed();
                            storage_.wait();
                          })};
    measured.timing.warm_up();
    return measured;
  }

  /// Returns the row of the timed calls. Checks one more call.
  Record end(const std::string& name, const Task<T>& task, const Checker<T>* checker,
             const Measured& measured) {
    Record record;
    record.times = measured.timing.times();
    combine(measured.runner->stats(), record);
    if (checker != nullptr) {
      const std::size_t wrong = measured.wrong + check(*measured.runner, *checker);
      const std::vector<std::size_t> all = ranks_.gather_value(wrong);
      record.wrong = std::accumulate(all.begin(), all.end(), std::size_t{0});
    }
    if (measured.own && options_.memory == "host")
      record.model_seconds = model(name, task, record.nnz_out);
    record.algorithm = name;
    record.bytes = task.n * sizeof(T);
    record.n = task.n;
    record.k = task.k;
    return record;
  }

  /// Returns the prediction of the cost model, which covers calls without a selection.
  std::optional<double> model(const std::string& name, const Task<T>& task, std::size_t result) {
    const auto asked = [this](const char* word) {
      return std::ranges::count(options_.algorithms, word) > 0;
    };
    const char* const chooser = asked(kReordered) ? kReordered : "auto";
    if (!asked(chooser) || (task.form != Form::kSparse && task.form != Form::kSum))
      return std::nullopt;
    const std::size_t entries = task.k * static_cast<std::size_t>(task.ranks);
    const std::size_t k = task.form == Form::kSum ? SPARSECOLL_ALL : task.k;
    return model_seconds(name, {task.n, k, entries, result, sizeof(T)},
                         library_.communicator(chooser));
  }

  /// MPI has no 16-bit types; complete_options() refuses baselines with them.
  static std::unique_ptr<Runner<T>> baseline(const std::string& name, const Task<T>& task) {
    if constexpr (kIsHalf<T>) {
      throw std::logic_error(name + " of a 16-bit type");
    } else {
      return make_baseline<T>(name, task);
    }
  }

  std::size_t check(Runner<T>& runner, const Checker<T>& checker) {
    runner.reset();
    runner.prepare();
    call(runner);
    return runner.wrong(checker);
  }

  /// Makes one call and waits for its result.
  void call(Runner<T>& runner) {
    runner.call();
    storage_.wait();
  }

  /// Combines the statistics of all ranks into one row.
  void combine(const CallStats& mine, Record& record) {
    const auto selected = ranks_.gather_value(mine.selected);
    record.nnz_in = std::ranges::max(selected);
    record.mean_nnz_in = std::accumulate(selected.begin(), selected.end(), 0.0) /
                         static_cast<double>(selected.size());
    record.nnz_out = std::ranges::max(ranks_.gather_value(mine.result));
    record.wire_bytes = std::ranges::max(ranks_.gather_value(mine.wire_bytes));
    record.messages = std::ranges::max(ranks_.gather_value(mine.messages));
    record.select_seconds = std::ranges::max(ranks_.gather_value(mine.select_seconds));
    record.pack_seconds = std::ranges::max(ranks_.gather_value(mine.pack_seconds));
    record.exchange_seconds = std::ranges::max(ranks_.gather_value(mine.exchange_seconds));
    record.reduce_seconds = std::ranges::max(ranks_.gather_value(mine.reduce_seconds));
    record.wire_is_model = mine.wire_is_model;
    record.ran = mine.ran;
  }

  const Options& options_;
  Ranks& ranks_;
  Storage& storage_;
  Library& library_;
};

}  // namespace sparsecoll::perf
