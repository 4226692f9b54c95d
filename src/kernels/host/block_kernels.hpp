// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/host/block_merge.hpp"
#include "kernels/host/block_select.hpp"
#include "kernels/host/host_kernels.hpp"

namespace sparsecoll::host {

/// Kernels of one value type and one index type on the host whose indices name blocks of values.
/// Blocks are selected by their squared norms.
template <class T, class I>
class HostBlockKernels final : public HostKernels<T, I> {
  using Values = HostKernels<T, I>;
  using typename Values::Acc;
  using typename Values::In;
  using Values::arena_;
  using Values::block_size_;

 public:
  using Values::Values;

  Kernels& of_values() override {
    return *new (arena_.template take<Values>(1)) Values(arena_, this->backend_, 1);
  }
  KeySpace keys() const override { return kBlockKeys; }

  void accumulate_select(const Gradient& gradient, size_t k,
                         const SparseBuffer& selected) override {
    if constexpr (Integer<T>)
      Values::accumulate_select(gradient, k, selected);
    else
      accumulate_select_blocks<T, I>(gradient, block_size_, k, selected, arena_);
  }
  void top_k(const SparseSpan& in, size_t k, const SparseBuffer& kept,
             const SparseBuffer& dropped) override {
    const Arena::Scope scope(arena_);
    const In view(in);
    const auto keys = block_keys(view, block_size_, arena_);
    partition_blocks(view, keys, block_size_, find_block_threshold(keys, k), kept, dropped);
  }
  void merge(std::span<const SparseSpan> inputs, const SparseBuffer& sum) override {
    const auto passes = [](const Acc*) { return true; };
    merge_blocks<Acc, I>(inputs, block_size_, passes, sum, arena_);
  }
  void merge_above(std::span<const SparseSpan> inputs, uint64_t key,
                   const SparseBuffer& out) override {
    const auto passes = [&](const Acc* sum) { return block_key(sum, block_size_) >= key; };
    merge_blocks<Acc, I>(inputs, block_size_, passes, out, arena_);
  }
  void select_above(const SparseSpan& in, const Threshold& threshold,
                    const SparseBuffer& out) override {
    const Arena::Scope scope(arena_);
    const In view(in);
    partition_blocks(view, block_keys(view, block_size_, arena_), block_size_, threshold, out,
                     SparseBuffer{});
  }
  void least_key(const SparseSpan& in, uint64_t* key) override {
    const Arena::Scope scope(arena_);
    *key = host::least_key(block_keys(In(in), block_size_, arena_));
  }
  void key_histogram(const SparseSpan& in, const KeyBins& bins, uint64_t* bin) override {
    const Arena::Scope scope(arena_);
    host::key_histogram(block_keys(In(in), block_size_, arena_), bins, bin);
  }
  void put_back(const Feedback& feedback, void* residual) override {
    host::put_back<Acc, I>(feedback, block_size_, static_cast<Acc*>(residual));
  }
  void scatter(const SparseSpan& in, int divisor, const Region& region, void* dense) override {
    this->for_chunks(region.length(), [&](size_t begin, size_t end) {
      scatter_blocks<T, I>(In(in), block_size_, divisor, {region.begin + begin, region.begin + end},
                           static_cast<T*>(dense) + begin * block_size_);
    });
  }
};

}  // namespace sparsecoll::host
