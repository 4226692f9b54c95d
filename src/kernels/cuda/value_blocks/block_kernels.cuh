// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/cuda_kernels.cuh"
#include "kernels/cuda/value_blocks/merge.cuh"
#include "kernels/cuda/value_blocks/results.cuh"
#include "kernels/cuda/value_blocks/select.cuh"

namespace sparsecoll::cuda {

/// The kernels of vectors of blocks on a device. Kernels of integers do the work on indices: they
/// find which entries are added or selected. Then the blocks of these entries are moved.
template <class T, class I>
class CudaBlockKernels final : public CudaKernels<T, I> {
  using Base = CudaKernels<T, I>;
  using Base::backend_;
  using typename Base::Acc;
  using typename Base::In;

 public:
  CudaBlockKernels(Backend& backend, size_t block_size)
      : Base(backend),
        block_size_(block_size),
        of_values_(make_cuda_kernels(Base::data_type(), Base::index_type(), backend)),
        of_bits_(make_cuda_kernels(DataType::int32, Base::index_type(), backend)),
        of_keys_(make_cuda_kernels(DataType::int64, Base::index_type(), backend)) {}

  size_t block_size() const override { return block_size_; }
  Kernels& of_values() override { return *of_values_; }
  KeySpace keys() const override { return kBlockKeys; }

  void widen(const SparseSpan& in, void* to) override { of_values_->widen(as_values(in), to); }
  void round_to_bf16(const SparseSpan& in, void* rounded, void* lost) override {
    of_values_->round_to_bf16(as_values(in), rounded, lost);
  }

  void accumulate_select(const Gradient& gradient, size_t k,
                         const SparseBuffer& selected) override {
    if constexpr (!Integer<T>)
      accumulate_select_blocks<T, I>(backend_, *of_keys_, gradient, block_size_, k, selected);
  }
  void top_k(const SparseSpan& in, size_t k, const SparseBuffer& kept,
             const SparseBuffer& dropped) override {
    const Arena::Scope scope(backend_.arena());
    const SparseBuffer keep = of_keys_->sparse(kept.capacity);
    const bool drops = dropped.capacity > 0;
    const SparseBuffer drop = drops ? of_keys_->sparse(dropped.capacity) : SparseBuffer{};
    of_keys_->top_k(keys_of(in), k, keep, drop);
    take(in, keep, kept);
    if (drops) take(in, drop, dropped);
  }
  void select_above(const SparseSpan& in, const Threshold& threshold,
                    const SparseBuffer& out) override {
    const Arena::Scope scope(backend_.arena());
    const SparseBuffer keep = of_keys_->sparse(out.capacity);
    of_keys_->select_above(keys_of(in), threshold, keep);
    take(in, keep, out);
  }
  void least_key(const SparseSpan& in, uint64_t* key) override {
    const Arena::Scope scope(backend_.arena());
    of_keys_->least_key(keys_of(in), key);
  }
  void key_histogram(const SparseSpan& in, const KeyBins& bins, uint64_t* bin) override {
    const Arena::Scope scope(backend_.arena());
    of_keys_->key_histogram(keys_of(in), bins, bin);
  }

  void merge(std::span<const SparseSpan> inputs, const SparseBuffer& sum) override {
    merge_blocks<Acc, I>(backend_, *of_bits_, inputs, block_size_, sum);
  }
  void concatenate(std::span<const SparseSpan> inputs, const SparseBuffer& out) override {
    copy_all_blocks<Acc, I>(backend_, inputs, block_size_, Unchanged<Acc>{}, out);
  }

  void put_back(const Feedback& feedback, void* residual) override {
    put_back_blocks<Acc, I>(backend_, feedback, block_size_, static_cast<Acc*>(residual));
  }
  void deliver(const SparseSpan& in, int divisor, const SparseBuffer& out) override {
    copy_entries_of<Acc, I, T>(backend_, In(in), {nullptr, nullptr, in.nnz}, block_size_,
                               ToResult<T>{divisor}, out);
  }
  void deliver_concatenated(std::span<const SparseSpan> inputs, const SparseBuffer& out) override {
    copy_all_blocks<Acc, I>(backend_, inputs, block_size_, NarrowToTensorType<T>{}, out);
  }
  void scatter(const SparseSpan& in, int divisor, const Region& region, void* dense) override {
    scatter_blocks<T, I>(backend_, In(in), block_size_, divisor, region, static_cast<T*>(dense));
  }

 private:
  /// Returns the values of a vector as a dense vector.
  SparseSpan as_values(const SparseSpan& in) {
    return {nullptr, in.value, values_of_blocks(backend_, in.nnz, block_size_)};
  }
  SparseSpan keys_of(const SparseSpan& in) {
    return block_keys<Acc>(backend_, in.value, in.nnz, block_size_);
  }
  /// Writes the entries at these positions.
  void take(const SparseSpan& in, const SparseBuffer& positions, const SparseBuffer& out) {
    copy_entries_of<Acc, I, Acc>(backend_, In(in), positions.span(), block_size_, Unchanged<Acc>{},
                                 out);
  }

  const size_t block_size_;
  const std::unique_ptr<Kernels> of_values_;
  const std::unique_ptr<Kernels> of_bits_;  ///< to merge indices
  const std::unique_ptr<Kernels> of_keys_;  ///< to select by keys
};

}  // namespace sparsecoll::cuda
