// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/host/feedback.hpp"
#include "kernels/host/merge.hpp"
#include "kernels/host/pack.hpp"
#include "kernels/host/push_sum.hpp"
#include "kernels/host/sampled_select.hpp"
#include "kernels/host/sparse_select.hpp"
#include "kernels/host/unpack.hpp"

namespace sparsecoll::host {

/// Kernels of one value type and one index type on the host. Every call is synchronous, except that
/// messages are written when they are waited for. An index names one value; HostBlockKernels
/// (block_kernels.hpp) changes what is different where it names a block.
template <class T, class I>
class HostKernels : public Kernels {
 protected:
  using Acc = Accumulation<T>;
  using In = View<Acc, I>;

 public:
  /// Kernels without a backend use the plain loops.
  HostKernels(Arena& arena, Backend* backend, size_t block_size)
      : arena_(arena), backend_(backend), block_size_(block_size) {}

  DataType data_type() const override { return data_type_of<T>(); }
  bool is_synchronous() const override { return true; }
  IndexType index_type() const override {
    return sizeof(I) == 4 ? IndexType::index32 : IndexType::index64;
  }
  size_t block_size() const override { return block_size_; }
  std::byte* bytes(size_t n) override { return arena_.take<std::byte>(n); }
  uint64_t* counts(size_t n) override { return arena_.take_span<uint64_t>(n).data(); }

  void set_count(uint64_t* count, uint64_t value) override { *count = value; }

  const std::byte* upload(ConstBytes host) override { return host.data(); }
  std::byte* download_buffer(Bytes host) override { return host.data(); }
  void download(const std::byte*, Bytes) override {}
  void copy(const void* from, size_t bytes, void* to) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }

  KeySpace keys() const override { return {kKeyEnd<Acc>, std::numeric_limits<Acc>::digits - 1}; }

  void widen(const SparseSpan& in, void* to) override {
    const View<T, I> view(in);
    std::transform(view.value, view.value + view.nnz * block_size_, static_cast<Acc*>(to),
                   [](T value) { return sparsecoll::widen(value); });
  }
  void accumulate_select(const Gradient& gradient, size_t k,
                         const SparseBuffer& selected) override {
    if constexpr (!Integer<T>)
      if (samples(gradient.count, k)) {
        host::accumulate_select<T, I>(*backend_, gradient, k, selected);
        return;
      }
    host::accumulate_select<T, I>(gradient, k, selected, arena_);
  }
  void accumulate_above(const Gradient& gradient, uint64_t key,
                        const SparseBuffer& selected) override {
    if constexpr (!Integer<T>)
      if (samples(gradient.count, selected.capacity))
        return host::accumulate_above<T, I>(*backend_, gradient, key, selected);
    host::accumulate_above<T, I>(gradient, key, selected);
  }
  void accumulate(const Gradient& gradient, void* acc) override {
    for_chunks(gradient.count, [&](size_t begin, size_t end) {
      host::accumulate<T>(slice(gradient, begin, end), static_cast<Acc*>(acc) + begin);
    });
  }
  bool accumulate_select_sum(SummedVectors& vectors, const Gradient& gradient, size_t k,
                             const SparseBuffer& selected) override {
    if constexpr (!Integer<T> && std::is_same_v<T, Acc>)
      if (gradient.residual.write && samples(gradient.count, k))
        return host::accumulate_select<T, I>(*backend_, gradient, k, selected, &vectors);
    return false;
  }
  bool add_vectors(SummedVectors& vectors, size_t count, void* sum) override {
    std::atomic<bool> whole{true};
    Acc* const sums = static_cast<Acc*>(sum);
    const Arena::Scope scope(arena_);
    const size_t chunks = backend_ ? backend_->chunks(count) : 1;
    const std::span<BlockSum<T>> blocks(arena_.take<BlockSum<T>>(chunks), chunks);
    for (BlockSum<T>& each : blocks) new (&each) BlockSum<T>(vectors, backend_, arena_);
    const auto add = [&](size_t s) {
      const size_t end = cut(count, chunks, s + 1);
      for (size_t at = cut(count, chunks, s); at < end && whole; at += BlockSum<T>::kMost)
        if (!blocks[s].add(at, std::min(BlockSum<T>::kMost, end - at), sums + at)) whole = false;
    };
    if (backend_)
      backend_->run(chunks, add);
    else
      add(0);
    return whole;
  }
  void zero(void* values, size_t count) override {
    std::fill_n(static_cast<Acc*>(values), count, Acc{0});
  }
  void top_k(const SparseSpan& in, size_t k, const SparseBuffer& kept,
             const SparseBuffer& dropped) override {
    const In view(in);
    const std::span<const Acc> values(view.value, view.nnz);
    const Threshold threshold = k < view.nnz ? host::find_threshold(values, k, arena_, loops())
                                             : Threshold{};  // all pass, except zeros
    host::partition(view, threshold, kept, dropped, loops());
  }
  void merge(std::span<const SparseSpan> inputs, const SparseBuffer& sum) override {
    host::merge<Acc, I>(inputs, sum, arena_);
  }
  void merge_above(std::span<const SparseSpan> inputs, uint64_t key,
                   const SparseBuffer& out) override {
    const auto extract = backend_ ? extract_of<Acc>(backend_->filters()) : nullptr;
    host::merge_sparse<Acc, I>(inputs, host::SumsAtLeast<Acc>{key, extract}, out, arena_);
  }
  void concatenate(std::span<const SparseSpan> inputs, const SparseBuffer& out) override {
    host::concatenate<Acc, I>(inputs, block_size_, out);
  }
  void select_above(const SparseSpan& in, const Threshold& threshold,
                    const SparseBuffer& out) override {
    host::partition(In(in), threshold, out, SparseBuffer{}, loops());
  }
  void least_key(const SparseSpan& in, uint64_t* key) override { *key = host::least_key(In(in)); }
  void key_histogram(const SparseSpan& in, const KeyBins& bins, uint64_t* bin) override {
    host::key_histogram(In(in), bins, bin);
  }
  void index_histogram(const SparseSpan& in, uint64_t width, uint64_t* bin) override {
    const In view(in);
    for (size_t j = 0; j < view.nnz; ++j) ++bin[view.at(j) / width];
  }
  void round_to_bf16(const SparseSpan& in, void* rounded, void* lost) override {
    const In view(in);
    if constexpr (!Integer<T>)
      host::round_to_bf16(view.value, view.nnz * block_size_, static_cast<Acc*>(rounded),
                          static_cast<Acc*>(lost));
  }
  void round_to_int8(const SparseSpan& in, void* rounded, void* lost) override {
    if constexpr (!Integer<T>)
      host::round_to_int8(In(in), block_size_, scale_bits().value(), static_cast<Acc*>(rounded),
                          static_cast<Acc*>(lost));
  }
  std::optional<SparseSpan> slice(const SparseSpan& in, const Region& region) override {
    const In view(in);
    if (!view.index) return {};
    const size_t first = position(view, region.begin), last = position(view, region.end);
    uint64_t* const nnz = counts(1);
    *nnz = last - first;
    return SparseSpan{
        view.index + first, view.value + first * block_size_, {last - first, nnz}, in.precision};
  }
  void pack_all(const SparseSpan& in, std::span<const Region> regions,
                const Packets& out) override {
    write_pending();
    switch (in.precision) {
      case Precision::accumulated:
        pending_ = host::plan_messages<Acc, T>(In(in), *this, regions, out, arena_);
        break;
      case Precision::stored:
        pending_ = host::plan_messages<T, T>(In(in), *this, regions, out, arena_);
        break;
      case Precision::bfloat16:
        if constexpr (!Integer<T>)
          pending_ = host::plan_messages<Bfloat16, T>(In(in), *this, regions, out, arena_);
        break;
      case Precision::int8:
        if constexpr (!Integer<T>)
          pending_ = host::plan_messages<Int8, T>(In(in), *this, regions, out, arena_);
    }
  }
  /// Writes a message only when it is waited for, so that the first one is sent while the others
  /// are written.
  void wait_packed(const std::byte* end) override {
    for (; !pending_.empty() && pending_.front().at < end; pending_ = pending_.subspan(1))
      pending_.front().write(loops());
  }
  void prefetch(ConstBytes) override {}
  void count_entries(std::span<const Message> messages, size_t* out) override {
    write_pending();  // these messages may be among the pending ones
    for (const Message& each : messages)
      *out++ = wire_entries(each.bytes, data_type(), format_of(each));
  }
  const void* values_in(const Message& message) const override {
    return host::values_in<T>(message, format_of(message));
  }
  void unpack_all(std::span<const Message> messages, std::span<const SparseBuffer> out,
                  uint64_t* fault) override {
    write_pending();
    for (size_t p = 0; p < messages.size(); ++p) {
      if (host::unpack<T, I>(messages[p], out[p], format_of(messages[p]), loops())) continue;
      *out[p].nnz = 0;
      ++*fault;
    }
  }
  void put_back(const Feedback& feedback, void* residual) override {
    constexpr std::integral_constant<size_t, 1> one{};
    host::put_back<Acc, I>(feedback, one, static_cast<Acc*>(residual));
  }
  void keep_cancelled(const void* acc, const SparseSpan& sum, void* residual) override {
    const In view(sum);
    for_chunks(view.nnz, [&](size_t begin, size_t end) {
      host::keep_cancelled(static_cast<const Acc*>(acc) + begin, view.value + begin, end - begin,
                           static_cast<Acc*>(residual) + begin);
    });
  }
  void deliver(const SparseSpan& in, int divisor, const SparseBuffer& out) override {
    host::deliver<T, I>(In(in), block_size_, divisor, out);
  }
  void deliver_concatenated(std::span<const SparseSpan> inputs, const SparseBuffer& out) override {
    host::deliver_concatenated<T, I>(inputs, block_size_, loops(), out);
  }
  void scatter(const SparseSpan& in, int divisor, const Region& region, void* dense) override {
    const FilterFunctions* const past_caches = past_caches_for(region.length() * sizeof(T));
    for_chunks(region.length(), [&](size_t begin, size_t end) {
      const Region part{region.begin + begin, region.begin + end};
      host::scatter<T, I>(In(in), divisor, part, past_caches, static_cast<T*>(dense) + begin);
    });
  }
  void copy_canonical(const void* from, size_t count, void* to) override {
    const auto* in = static_cast<const Acc*>(from);
    std::transform(in, in + count, static_cast<Acc*>(to), canonical<Acc>);
  }
  void scale(void* values, size_t count, double factor) override {
    host::scale(static_cast<Acc*>(values), count, factor);
  }
  void check_indices(const SparseSpan& in, const Region& region, uint64_t* first_bad) override {
    host::check_indices(In(in), region, loops(), first_bad);
  }
  void push_sum_share(const void* values, size_t count, double share, void* out) override {
    host::push_sum_share(static_cast<const T*>(values), count, share, static_cast<T*>(out));
  }
  void push_sum_add_change(const SparseSpan& change, double sign, void* copy) override {
    host::push_sum_add_change(In(change), sign, static_cast<Acc*>(copy));
  }
  void push_sum_mix(const void* copy, size_t count, double share, void* net) override {
    host::push_sum_mix(static_cast<const Acc*>(copy), count, share, static_cast<Acc*>(net));
  }
  void push_sum_split_weight(double* weight, std::span<const double> shares,
                             std::span<double* const> out) override {
    host::push_sum_split_weight(weight, shares, out);
  }
  void push_sum_add_weights(double* weight, std::span<const double* const> arrived) override {
    host::push_sum_add_weights(weight, arrived);
  }
  void push_sum_update(const PushSumUpdate& update, size_t count, void* x,
                       void* estimate) override {
    host::push_sum_update(update, count, static_cast<T*>(x), static_cast<T*>(estimate));
  }
  void read(const uint64_t* counts, size_t n, uint64_t* out) override {
    std::copy_n(counts, n, out);
  }

 protected:
  void for_chunks(size_t count, FunctionRef<void(size_t, size_t)> body) {
    if (backend_)
      backend_->for_chunks(count, body);
    else
      body(0, count);
  }

  Arena& arena_;
  Backend* backend_;
  const size_t block_size_;

 private:
  std::byte* slab(size_t n, size_t) override { return bytes(n); }

  const SparseLoops* loops() const { return backend_ ? backend_->loops() : nullptr; }
  /// Returns whether sampling pays: not for short vectors, nor for large shares of a vector.
  bool samples(size_t count, size_t k) const {
    return backend_ && count >= backend_->tuning().min_count &&
           k <= count / backend_->tuning().min_ratio;
  }
  /// Returns the functions to write a dense vector past the caches; null if it fits into them.
  const FilterFunctions* past_caches_for(size_t bytes) const {
    return backend_ && backend_->is_beyond_caches(bytes) ? &backend_->filters() : nullptr;
  }
  static Gradient slice(const Gradient& whole, size_t begin, size_t end) {
    const auto* previous = static_cast<const Acc*>(whole.residual.read);
    return {static_cast<const T*>(whole.values) + begin,
            end - begin,
            {previous ? previous + begin : nullptr, nullptr}};
  }

  void write_pending() {
    for (const PendingMessage<T, I>& each : pending_) each.write(loops());
    pending_ = {};
  }

  std::span<const PendingMessage<T, I>>
      pending_;  ///< messages of pack_all() that are not written yet
};

}  // namespace sparsecoll::host
