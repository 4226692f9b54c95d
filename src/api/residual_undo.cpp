// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Updates of a residual, and how the last one is undone.
#include <cstring>
#include <type_traits>

#include "api/residual.hpp"
#include "kernels/kernels.hpp"

namespace sparsecoll {

namespace {

/// Adds the indices of a vector on the host. Index is that of the kernels that made it.
template <class Index>
void add_indices(const SparseSpan& from, size_t nnz, std::vector<uint64_t>& to) {
  const auto* const index = static_cast<const Index*>(from.index);
  for (size_t j = 0; j < nnz; ++j) to.push_back(index ? index[j] : j);
}

}  // namespace

void Residual::prepare_update(uint64_t agreed) {
  if (!undoable_ || captured_) return;
  if (before_ >= 0 && agreed > changed_in_) forget_undo();
  next_ = 0;
  while (next_ == now_ || next_ == before_) ++next_;
  if (buffer_[next_].size() < bytes()) buffer_[next_] = Block(*memory_, bytes());
}

void Residual::commit(Kernels& kernels, uint64_t sequence) {
  const int before = now_;
  commit(kernels);
  if (!undoable_ || captured_) return;
  before_ = before;
  journal_ = {};
  changed_in_ = sequence;
}

void Residual::commit(Kernels& kernels) {
  if (captured_)
    kernels.copy(view().write, bytes(), current());
  else
    std::swap(now_, next_);
  used_ = true;
}

void Residual::keep(Kernels& kernels, std::span<const SparseSpan> changes, uint64_t sequence) {
  if (!undoable_) return;
  if (device_ != kHost) {  // a copy of all of it takes little time there
    prepare_update(sequence);
    kernels.copy(current(), bytes(), view().write);
    before_ = next_;
    changed_in_ = sequence;
    return;
  }
  Journal journal;
  for (const SparseSpan& each : changes) {
    const size_t nnz = each.nnz.at ? kernels.read(each.nnz.at) : each.nnz.bound;
    if (kernels.index_type() == IndexType::index32)
      add_indices<uint32_t>(each, nnz, journal.index);
    else
      add_indices<uint64_t>(each, nnz, journal.index);
  }
  journal.values.resize(journal.index.size() * value_size());
  std::byte* at = journal.values.data();
  for (const uint64_t index : journal.index) {
    std::memcpy(at, current() + index * value_size(), value_size());
    at += value_size();
  }
  journal_ = std::move(journal);
  before_ = now_;
  changed_in_ = sequence;
}

void Residual::undo_after(uint64_t committed) {
  if (before_ < 0 || changed_in_ <= committed) return;
  now_ = before_;
  const std::byte* at = journal_.values.data();
  for (const uint64_t index : journal_.index) {  // an index may come twice, with the same value
    std::memcpy(current() + index * value_size(), at, value_size());
    at += value_size();
  }
  if (step_ == changed_in_) step_ = step_before_;
  forget_undo();
  next_ = now_ == 0 ? 1 : 0;
}

void Residual::scale(Kernels& kernels, double factor) {
  kernels.scale(current(), held_count(), factor);
  if (before_ >= 0 && before_ != now_) kernels.scale(buffer_[before_].data(), held_count(), factor);
  if (!journal_.index.empty()) kernels.scale(journal_.values.data(), journal_.index.size(), factor);
}

void Residual::move_to(const std::shared_ptr<Communicator>& owner) {
  owner_ = owner;
  shapes_.clear();  // the new communicator has no caches of them
}

}  // namespace sparsecoll
