// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The runners of the library's verbs: one for dense vectors, one for the v verbs, and one for
// sparseAlltoall.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "calls/algorithm_info.hpp"
#include "common/algorithm_words.hpp"
#include "common/checker.hpp"
#include "common/gradients.hpp"
#include "common/handles.hpp"
#include "common/runner.hpp"
#include "common/storage.hpp"

namespace sparsecoll::perf {

inline ResultKind result_of(const std::string& word) {
  const AlgorithmInfo* const algorithm = algorithm_named(word);
  return algorithm != nullptr ? algorithm->result : ResultKind::definition;
}

inline std::vector<std::uint32_t> narrowed(const std::vector<std::uint64_t>& indices) {
  return {indices.begin(), indices.end()};
}

/// The communicator and the storage of a runner.
struct Resources {
  const Communicator& comm;
  Storage& storage;
};

template <class T>
std::vector<T> narrowed(const std::vector<Wide<T>>& values) {
  std::vector<T> all;
  for (const Wide<T> value : values) all.push_back(T(value));
  return all;
}

/// Returns the entries that are not 0.
template <class T>
Entries<Wide<T>> entries_of(std::span<const T> dense) {
  Entries<Wide<T>> entries;
  for (std::size_t i = 0; i < dense.size(); ++i) {
    if (dense[i] == T(0.0f)) continue;
    entries.index.push_back(i);
    entries.value.push_back(dense[i]);
  }
  return entries;
}

/// The base of the runners: residual, statistics, and the expected result.
template <class T>
class LibraryRunner : public Runner<T> {
 public:
  LibraryRunner(std::string name, const Task<T>& task, const Resources& resources)
      : name_(std::move(name)),
        result_(result_of(name_)),
        task_(task),
        comm_(resources.comm),
        storage_(resources.storage) {
    const Communicator& comm = resources.comm;
    if (task.feedback) residual_ = Residual(task.n, datatype_of<T>(), comm.get());
  }

  void reset() override { residual_.reset(); }

  CallStats stats() const override {
    const sparsecollStats_t last = comm_.last_stats();
    CallStats stats;
    stats.selected = last.selected;
    stats.result = last.result;
    stats.wire_bytes = static_cast<double>(last.bytesSent);
    stats.messages = last.messagesSent;
    stats.select_seconds = last.selectSeconds;
    stats.pack_seconds = last.packSeconds;
    stats.exchange_seconds = last.exchangeSeconds;
    stats.reduce_seconds = last.reduceSeconds;
    const bool chooses = name_ != kGtopk && name_ != kAlltoall && name_ != kReuse;
    stats.ran = chooses ? word_of(last.algorithm) : name_;
    return stats;
  }

 protected:
  ExpectedResult expected_result() const {
    if (name_ == kGtopk) return ExpectedResult::kMergeTree;
    if (result_ == ResultKind::shard_sums) return ExpectedResult::kSumOfShardSelections;
    if (result_ == ResultKind::sharded) return ExpectedResult::kSharded;
    return result_ == ResultKind::whole_sum ? ExpectedResult::kSumOfVectors
                                            : ExpectedResult::kTopkOfSum;
  }
  /// Returns true if sent values are rounded. Without a selection they never are.
  bool rounds_values() const { return task_.rounded && result_ != ResultKind::whole_sum; }
  sparsecollRedOp_t op() const { return task_.average ? sparsecollAvg : sparsecollSum; }
  std::size_t wrong_in_residual(const Checker<T>& checker) const {
    if (residual_.get() == nullptr || rounds_values()) return 0;
    std::vector<Wide<T>> values(task_.n);
    residual_.read(values.data());
    return checker.wrong_residual(values, expected_result());
  }

  std::string name_;
  ResultKind result_;
  Task<T> task_;
  const Communicator& comm_;
  Storage& storage_;
  Residual residual_;
};

template <class T>
class DenseVerb final : public LibraryRunner<T> {
 public:
  DenseVerb(const std::string& name, const Task<T>& task, const Resources& resources)
      : LibraryRunner<T>(name, task, resources),
        verb_(name == kGtopk ? gtopkAllreduce : sparseAllreduce),
        send_(resources.storage, Gradients<T>::unrolled(task.dense)),
        result_(resources.storage, task.n) {}

  void prepare() override { gradients_.advance(); }

  void reset() override {
    LibraryRunner<T>::reset();
    gradients_.reset();
  }

  void call() override {
    const T* const send = send_.data() + gradients_.offset();
    const std::size_t bytes = this->task_.n * sizeof(T);
    this->storage_.copy_to_host(send, bytes);
    require(verb_(send, result_.data(), this->task_.n, this->task_.k, datatype_of<T>(), this->op(),
                  this->residual_.get(), this->comm_.get(), this->storage_.stream()),
            this->comm_.get(), this->name_.c_str());
    this->storage_.copy_to_device(result_.data(), bytes);
  }

  std::size_t wrong(const Checker<T>& checker) const override {
    if (this->rounds_values())
      return checker.wrong_rounded(entries_of(result_.read()), this->expected_result());
    return checker.wrong_dense(result_.read(), this->expected_result(), Accuracy::kBits) +
           this->wrong_in_residual(checker);
  }

 private:
  decltype(&sparseAllreduce) verb_;
  Gradients<T> gradients_;
  Array<T> send_;
  Array<T> result_;
};

template <class T>
sparsecollSparse_t describe(std::size_t n, const Array<std::uint32_t>& index,
                            const Array<T>& value) {
  sparsecollSparse_t sparse = SPARSECOLL_SPARSE_INITIALIZER;
  sparse.count = n;
  sparse.capacity = index.size();
  sparse.indices = index.data();
  sparse.values = value.data();
  sparse.indexType = sparsecollIndex32;
  sparse.datatype = datatype_of<T>();
  return sparse;
}

template <class T>
class SparseVerb final : public LibraryRunner<T> {
 public:
  SparseVerb(const std::string& name, const Task<T>& task, const Resources& resources)
      : LibraryRunner<T>(name, task, resources),
        verb_(name == kGtopk ? gtopkAllreducev : sparseAllreducev),
        k_(task.form == Form::kSum ? SPARSECOLL_ALL : task.k),
        index_(resources.storage, narrowed(task.entries->index)),
        value_(resources.storage, narrowed<T>(task.entries->value)),
        result_index_(resources.storage, most(name, task)),
        result_value_(resources.storage, result_index_.size()),
        send_(describe(task.n, index_, value_)),
        receive_(describe(task.n, result_index_, result_value_)) {
    send_.nnz = index_.size();
  }

  void call() override {
    require(verb_(&send_, &receive_, k_, this->op(), this->residual_.get(), this->comm_.get(),
                  this->storage_.stream()),
            this->comm_.get(), this->name_.c_str());
  }

  std::size_t wrong(const Checker<T>& checker) const override {
    if (this->rounds_values()) {
      const auto index = result_index_.read(receive_.nnz);
      const auto value = result_value_.read(receive_.nnz);
      return checker.wrong_rounded({{index.begin(), index.end()}, {value.begin(), value.end()}},
                                   this->expected_result());
    }
    return checker.wrong_sparse(result_index_.read(receive_.nnz), result_value_.read(receive_.nnz),
                                this->expected_result()) +
           this->wrong_in_residual(checker);
  }

 private:
  /// Returns the largest number of entries that a result can have.
  static std::size_t most(const std::string& name, const Task<T>& task) {
    std::size_t most = task.k;
    if (name == kReuse) most = 4 * task.k;  // reused thresholds select about k
    if (task.form == Form::kSum) most = task.k * static_cast<std::size_t>(task.ranks);
    return std::min(most, task.n);
  }

  decltype(&sparseAllreducev) verb_;
  std::size_t k_;
  Array<std::uint32_t> index_;
  Array<T> value_;
  Array<std::uint32_t> result_index_;
  Array<T> result_value_;
  sparsecollSparse_t send_;
  sparsecollSparse_t receive_;
};

template <class T>
class AlltoallVerb final : public LibraryRunner<T> {
 public:
  AlltoallVerb(const Task<T>& task, const Resources& resources)
      : LibraryRunner<T>(kAlltoall, task, resources),
        index_(resources.storage, narrowed(task.entries->index)),
        value_(resources.storage, narrowed<T>(task.entries->value)),
        received_index_(resources.storage, task.k * static_cast<std::size_t>(task.ranks)),
        received_value_(resources.storage, received_index_.size()),
        send_(describe(task.n, index_, value_)),
        receive_(describe(task.n, received_index_, received_value_)) {
    send_.nnz = index_.size();
  }

  void call() override {
    require(sparseAlltoall(&send_, &receive_, nullptr, this->task_.bounds.data(), this->comm_.get(),
                           this->storage_.stream()),
            this->comm_.get(), kAlltoall);
  }

  std::size_t wrong(const Checker<T>& checker) const override {
    return checker.wrong_received(received_index_.read(receive_.nnz),
                                  received_value_.read(receive_.nnz));
  }

 private:
  Array<std::uint32_t> index_;
  Array<T> value_;
  Array<std::uint32_t> received_index_;
  Array<T> received_value_;
  sparsecollSparse_t send_;
  sparsecollSparse_t receive_;
};

}  // namespace sparsecoll::perf
