// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "common/baselines.hpp"
#include "common/gradients.hpp"
#include "common/handles.hpp"

namespace sparsecoll::perf {
namespace {

template <class T>
MPI_Datatype mpi_type() {
  return std::is_same_v<T, float> ? MPI_FLOAT : MPI_DOUBLE;
}

template <class T>
void divide(std::vector<T>& values, int ranks) {
  for (T& value : values) value /= static_cast<T>(ranks);
}

/// MPI_Allreduce of the whole dense vector.
template <class T>
class MpiDense final : public Runner<T> {
 public:
  explicit MpiDense(const Task<T>& task) : task_(task), result_(task.n) {
    if (task.n > INT_MAX) throw std::runtime_error("mpi-dense takes at most 2^31 - 1 values");
  }

  void call() override {
    MPI_Allreduce(task_.dense.data(), result_.data(), static_cast<int>(task_.n), mpi_type<T>(),
                  MPI_SUM, MPI_COMM_WORLD);
    if (task_.average) divide(result_, task_.ranks);
  }

  CallStats stats() const override {
    CallStats stats;
    stats.selected = task_.n;
    stats.result = task_.n;
    // The bytes of a reduce-scatter and an allgather: no dense allreduce sends less.
    stats.wire_bytes = 2.0 * static_cast<double>(task_.n * sizeof(T)) *
                       static_cast<double>(task_.ranks - 1) / static_cast<double>(task_.ranks);
    stats.wire_is_model = true;
    return stats;
  }

  std::size_t wrong(const Checker<T>& checker) const override {
    return checker.wrong_dense(result_, ExpectedResult::kSumOfVectors,
                               checker.exact() ? Accuracy::kBits : Accuracy::kRounding);
  }

 private:
  Task<T> task_;
  std::vector<T> result_;
};

template <class T>
struct Pair {
  std::uint32_t index;
  T value;
};

/// MPI_Allgather of the lengths, MPI_Allgatherv of the pairs, then a scatter-add. In the dense form
/// it selects with sparsecollTopk, so that both sides pay the same for the selection, and the timed
/// part sets the result to zeros first, as a dense result requires. In the sparse forms prepare(),
/// which is not timed, clears the target of the scatter-add.
template <class T>
class MpiAllgather final : public Runner<T> {
 public:
  explicit MpiAllgather(const Task<T>& task)
      : task_(task),
        single_rank_(connect_single_rank()),
        index_(std::min(task.k, task.n)),
        value_(index_.size()),
        counts_(task.ranks),
        offsets_(task.ranks),
        result_(task.n, T(0)) {
    if (index_.size() > static_cast<std::size_t>(INT_MAX) / task.ranks) {
      throw std::runtime_error("mpi-allgather takes at most 2^31 - 1 pairs");
    }
    if (task.feedback && task.form == Form::kDense) {
      residual_ = Residual(task.n, datatype_of<T>(), single_rank_.get());
    }
    if (task.form == Form::kDense) {
      unrolled_ = Gradients<T>::unrolled(task.dense);
    } else {
      std::ranges::copy(task.entries->index, index_.begin());
      std::ranges::copy(task.entries->value, value_.begin());
      selected_ = task.entries->size();
    }
    MPI_Type_contiguous(static_cast<int>(sizeof(Pair<T>)), MPI_BYTE, &pair_type_);
    MPI_Type_commit(&pair_type_);
  }
  ~MpiAllgather() override { MPI_Type_free(&pair_type_); }

  void prepare() override {
    if (task_.form == Form::kDense) return gradients_.advance();
    for (const Pair<T>& pair : all_) result_[pair.index] = T(0);
  }

  void call() override {
    if (task_.form == Form::kDense) select();
    mine_.resize(selected_);
    for (std::size_t j = 0; j < selected_; ++j) {
      // A division of the k values here saves a pass over the n values of the result.
      const T share = task_.average ? value_[j] / static_cast<T>(task_.ranks) : value_[j];
      mine_[j] = {index_[j], share};
    }
    exchange();
    if (task_.form == Form::kDense) std::ranges::fill(result_, T(0));
    for (const Pair<T>& pair : all_) result_[pair.index] += pair.value;
  }

  void reset() override {
    residual_.reset();
    gradients_.reset();
  }

  CallStats stats() const override {
    CallStats stats;
    stats.selected = selected_;
    stats.result = static_cast<std::size_t>(
        std::ranges::count_if(result_, [](T value) { return value != T(0); }));
    // The bytes received from the other ranks. No algorithm receives less, and a ring sends as
    // many.
    stats.wire_bytes = static_cast<double>((all_.size() - selected_) * sizeof(Pair<T>) +
                                           (counts_.size() - 1) * sizeof(int));
    stats.wire_is_model = true;
    stats.select_seconds = select_seconds_;
    return stats;
  }

  std::size_t wrong(const Checker<T>& checker) const override {
    const Accuracy accuracy = task_.average ? Accuracy::kRounding : Accuracy::kBits;
    std::size_t wrong = checker.wrong_dense(result_, ExpectedResult::kSumOfSelections, accuracy);
    if (residual_.get() != nullptr) {
      std::vector<T> values(task_.n);
      residual_.read(values.data());
      wrong += checker.wrong_residual(values, ExpectedResult::kSumOfSelections);
    }
    return wrong;
  }

 private:
  void select() {
    const auto start = std::chrono::steady_clock::now();
    sparsecollSparse_t out = SPARSECOLL_SPARSE_INITIALIZER;
    out.capacity = index_.size();
    out.indices = index_.data();
    out.values = value_.data();
    out.indexType = sparsecollIndex32;
    out.datatype = datatype_of<T>();
    require(sparsecollTopk(unrolled_.data() + gradients_.offset(), task_.n, task_.k,
                           datatype_of<T>(), residual_.get(), &out, single_rank_.get(), nullptr),
            single_rank_.get(), "sparsecollTopk");
    selected_ = out.nnz;
    select_seconds_ =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  void exchange() {
    const int count = static_cast<int>(selected_);
    MPI_Allgather(&count, 1, MPI_INT, counts_.data(), 1, MPI_INT, MPI_COMM_WORLD);
    std::exclusive_scan(counts_.begin(), counts_.end(), offsets_.begin(), 0);
    all_.resize(static_cast<std::size_t>(offsets_.back()) +
                static_cast<std::size_t>(counts_.back()));
    MPI_Allgatherv(mine_.data(), count, pair_type_, all_.data(), counts_.data(), offsets_.data(),
                   pair_type_, MPI_COMM_WORLD);
  }

  Task<T> task_;
  Communicator single_rank_;
  Residual residual_;
  Gradients<T> gradients_;
  std::vector<T> unrolled_;  ///< the dense form's gradients
  std::vector<std::uint32_t> index_;
  std::vector<T> value_;
  std::size_t selected_ = 0;
  double select_seconds_ = 0;
  std::vector<Pair<T>> mine_;
  std::vector<Pair<T>> all_;
  std::vector<int> counts_;
  std::vector<int> offsets_;
  std::vector<T> result_;
  MPI_Datatype pair_type_ = MPI_DATATYPE_NULL;
};

/// MPI_Alltoall of the sizes, then MPI_Alltoallv of indices and of values. The entries are sorted,
/// so that those of one owner are contiguous.
template <class T>
class MpiAlltoallv final : public Runner<T> {
 public:
  explicit MpiAlltoallv(const Task<T>& task)
      : task_(task),
        index_(task.entries->index.begin(), task.entries->index.end()),
        value_(task.entries->value),
        send_counts_(task.ranks),
        send_offsets_(task.ranks),
        receive_counts_(task.ranks),
        receive_offsets_(task.ranks) {
    if (task.k > static_cast<std::size_t>(INT_MAX) / task.ranks) {
      throw std::runtime_error("mpi-alltoallv takes at most 2^31 - 1 entries");
    }
  }

  void call() override {
    auto begin = index_.cbegin();
    for (std::size_t r = 0; r < send_counts_.size(); ++r) {
      const auto end = std::lower_bound(begin, index_.cend(), task_.bounds[r + 1]);
      send_counts_[r] = static_cast<int>(end - begin);
      send_offsets_[r] = static_cast<int>(begin - index_.cbegin());
      begin = end;
    }
    MPI_Alltoall(send_counts_.data(), 1, MPI_INT, receive_counts_.data(), 1, MPI_INT,
                 MPI_COMM_WORLD);
    std::exclusive_scan(receive_counts_.begin(), receive_counts_.end(), receive_offsets_.begin(),
                        0);
    received_index_.resize(
        static_cast<std::size_t>(receive_offsets_.back() + receive_counts_.back()));
    received_value_.resize(received_index_.size());
    MPI_Alltoallv(index_.data(), send_counts_.data(), send_offsets_.data(), MPI_UINT32_T,
                  received_index_.data(), receive_counts_.data(), receive_offsets_.data(),
                  MPI_UINT32_T, MPI_COMM_WORLD);
    MPI_Alltoallv(value_.data(), send_counts_.data(), send_offsets_.data(), mpi_type<T>(),
                  received_value_.data(), receive_counts_.data(), receive_offsets_.data(),
                  mpi_type<T>(), MPI_COMM_WORLD);
  }

  CallStats stats() const override {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int kept = send_counts_[static_cast<std::size_t>(rank)];
    CallStats stats;
    stats.selected = index_.size();
    stats.result = received_index_.size();
    stats.wire_bytes = static_cast<double>((index_.size() - static_cast<std::size_t>(kept)) *
                                               (sizeof(std::uint32_t) + sizeof(T)) +
                                           (send_counts_.size() - 1) * sizeof(int));
    stats.wire_is_model = true;
    return stats;
  }

  std::size_t wrong(const Checker<T>& checker) const override {
    return checker.wrong_received(received_index_, received_value_);
  }

 private:
  Task<T> task_;
  std::vector<std::uint32_t> index_;
  std::vector<T> value_;
  std::vector<int> send_counts_, send_offsets_, receive_counts_, receive_offsets_;
  std::vector<std::uint32_t> received_index_;
  std::vector<T> received_value_;
};

}  // namespace

std::vector<std::string> baseline_names() {
  return {"mpi-dense", "mpi-allgather", "mpi-alltoallv"};
}

template <class T>
std::unique_ptr<Runner<T>> make_baseline(const std::string& name, const Task<T>& task) {
  if (name == "mpi-dense") return std::make_unique<MpiDense<T>>(task);
  if (name == "mpi-alltoallv") return std::make_unique<MpiAlltoallv<T>>(task);
  return std::make_unique<MpiAllgather<T>>(task);
}

template std::unique_ptr<Runner<float>> make_baseline(const std::string&, const Task<float>&);
template std::unique_ptr<Runner<double>> make_baseline(const std::string&, const Task<double>&);

}  // namespace sparsecoll::perf
