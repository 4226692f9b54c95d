// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Updates of a residual, and how the last one is undone.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "api/residual.hpp"
#include "kernels/kernels.hpp"

namespace sparsecoll {

namespace {

/// Adds the indices of the values of a vector on the host. Index is the index type of the kernels
/// that made it.
template <class Index>
void add_indices(const SparseSpan& from, size_t nnz, size_t block_size, std::vector<uint64_t>& to) {
  const auto* const index = static_cast<const Index*>(from.index);
  for (size_t j = 0; j < nnz; ++j) {
    const uint64_t first = (index ? index[j] : j) * block_size;
    for (size_t i = 0; i < block_size; ++i) to.push_back(first + i);
  }
}

}  // namespace

void Residual::prepare_update(uint64_t agreed) {
  if (most_versions_ == 0 || captured_) return;
  if (most_versions_ == 1 && !before_.empty() && agreed > before_.front().changed_in)
    drop_oldest_version();
  if (before_.size() == 2) drop_oldest_version();  // its buffer is written next
  const auto is_kept = [this](int buffer) {
    return buffer == now_ || std::ranges::any_of(before_, [buffer](const Version& each) {
             return each.buffer == buffer;
           });
  };
  next_ = 0;
  while (is_kept(next_)) ++next_;
  allocate(next_);
  if (most_versions_ == 2) allocate(2);  // allocated early, because a device waits for allocations
}

void Residual::allocate(int buffer) {
  if (buffer_[buffer].size() < bytes()) buffer_[buffer] = Block(*memory_, bytes());
}

void Residual::add_version(int buffer, uint64_t sequence) {
  if (before_.size() == most_versions_) drop_oldest_version();
  before_.push_back({buffer, sequence, step_});
}

void Residual::drop_oldest_version() {
  lost_ = before_.front().changed_in;
  before_.erase(before_.begin());
  journal_ = {};
}

void Residual::commit(Kernels& kernels, uint64_t sequence) {
  const int before = now_;
  swap(kernels);
  if (most_versions_ == 0) return;
  if (captured_)
    lost_ = sequence;
  else
    add_version(before, sequence);
}

void Residual::commit_after(Kernels& kernels, uint64_t sequence) {
  const bool kept = !before_.empty() && before_.back().changed_in == sequence;
  if (sequence > 0 && !kept) return commit(kernels, sequence);
  swap(kernels);
}

void Residual::swap(Kernels& kernels) {
  if (captured_)
    kernels.copy(view().write, bytes(), current());
  else
    std::swap(now_, next_);
  used_ = true;
}

void Residual::keep(Kernels& kernels, std::span<const SparseSpan> changes, uint64_t sequence) {
  if (most_versions_ == 0 || captured_) return;
  if (device_ != kHost) {  // there a copy of the whole buffer takes little time
    prepare_update(sequence);
    kernels.copy(current(), bytes(), view().write);
    return add_version(next_, sequence);
  }
  Journal journal;
  for (const SparseSpan& each : changes) {
    const size_t nnz = each.nnz.at ? kernels.read(each.nnz.at) : each.nnz.bound;
    if (kernels.index_type() == IndexType::index32)
      add_indices<uint32_t>(each, nnz, kernels.block_size(), journal.index);
    else
      add_indices<uint64_t>(each, nnz, kernels.block_size(), journal.index);
  }
  journal.values.resize(journal.index.size() * value_size());
  std::byte* at = journal.values.data();
  for (const uint64_t index : journal.index) {
    std::memcpy(at, current() + index * value_size(), value_size());
    at += value_size();
  }
  add_version(now_, sequence);
  journal_ = std::move(journal);
}

void Residual::undo_after(uint64_t committed) {
  if (lost_ > committed)
    fail(sparsecollInvalidUsage, "residual: the state after call ", committed,
         ", the last one that all ranks have completed, is lost: call ", lost_,
         " has changed it, which cannot be undone any more");
  const auto first = std::ranges::find_if(
      before_, [&](const Version& each) { return each.changed_in > committed; });
  if (first == before_.end()) return;
  now_ = first->buffer;
  const std::byte* at = journal_.values.data();
  for (const uint64_t index : journal_.index) {  // an index may come twice, with the same value
    std::memcpy(current() + index * value_size(), at, value_size());
    at += value_size();
  }
  step_ = first->step_before;
  forget_undo();
  next_ = now_ == 0 ? 1 : 0;
}

void Residual::scale(Kernels& kernels, double factor) {
  kernels.scale(current(), held_count(), factor);
  for (const Version& each : before_)
    if (each.buffer != now_) kernels.scale(buffer_[each.buffer].data(), held_count(), factor);
  if (!journal_.index.empty()) kernels.scale(journal_.values.data(), journal_.index.size(), factor);
}

void Residual::move_to(const std::shared_ptr<Communicator>& owner) {
  owner_ = owner;
  shapes_.clear();    // the new communicator has no caches of these shapes
  captured_ = false;  // graphs of the old communicator are gone
}

}  // namespace sparsecoll
