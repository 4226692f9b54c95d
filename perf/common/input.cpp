// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/input.hpp"

#include <algorithm>

#include "common/baselines.hpp"

namespace sparsecoll::perf {

template <class T>
void Input<T>::generate() {
  if (!dense_.empty()) return;
  dense_.resize(vectors_.count());
  vectors_.fill(ranks_.rank(), 0, dense_);
}

template <class T>
std::span<const T> Input<T>::dense() {
  generate();
  return dense_;
}

template <class T>
bool Input<T>::reads_vector(const Task<T>& task) const {
  const auto names = baseline_names();
  return task.form == Form::kDense || options_.check ||
         std::ranges::any_of(options_.algorithms, [&](const std::string& name) {
           return std::ranges::count(names, name) > 0;
         });
}

template <class T>
void Input<T>::make(Task<T>& task, bool last) {
  generate();
  task.dense = dense_;
  std::vector<Wide<T>> buffer;
  const std::span<const Wide<T>> wide = widened<T>(task.dense, buffer);
  selection_ = {};
  if (task.form != Form::kDense || options_.check) selection_ = top_k<Wide<T>>(wide, task.k);
  task.entries = &selection_;
  if (options_.check && std::ranges::count(options_.algorithms, "topka2a") > 0) {
    by_shard_ = top_k_by_shard<Wide<T>>(wide, task.k, static_cast<std::size_t>(task.ranks));
    task.by_shard = &by_shard_;
  }
  if (task.form == Form::kDense) return;
  if (last) std::vector<T>().swap(dense_);
  only_selected_.clear();
  if (reads_vector(task)) {
    only_selected_.resize(task.n, T(0.0f));
    for (std::size_t j = 0; j < selection_.size(); ++j)
      only_selected_[selection_.index[j]] = T(selection_.value[j]);
  }
  task.dense = only_selected_;
}

template <class T>
void Input<T>::select(Task<T>& task, bool last) {
  ranks_.prepare([&] { make(task, last); });
}

template class Input<float>;
template class Input<double>;
template class Input<Float16>;
template class Input<Bfloat16>;

}  // namespace sparsecoll::perf
