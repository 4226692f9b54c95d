// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A backend that is as late as a device: kernels and exchanges are queued on a stream and run when
// it is drained. Until then counts and buffers hold poison, so that code that reads them too early
// fails without a GPU. Exchanges carry the bound of each message, as NCCL does.

#include <deque>
#include <functional>
#include <vector>

#include "calls/call.hpp"
#include "kernels/kernels.hpp"
#include "transport/transport.hpp"

namespace sparsecoll::test {

class DeferredStream {
 public:
  void submit(std::function<void()> work) { work_.push_back(std::move(work)); }
  void drain();
  size_t submitted() const { return submitted_ + work_.size(); }

 private:
  std::vector<std::function<void()>> work_;
  size_t submitted_ = 0;
};

class DeferredKernels final : public Kernels {
 public:
  DeferredKernels(Kernels& host, Arena& arena, DeferredStream& stream)
      : host_(host), arena_(arena), stream_(stream) {}

  /// Number of times that the host waited for counts.
  size_t reads() const { return reads_; }

  using Kernels::read;
  DataType data_type() const override { return host_.data_type(); }
  IndexType index_type() const override { return host_.index_type(); }
  void set_scale_bits(unsigned bits) override {
    Kernels::set_scale_bits(bits);
    host_.set_scale_bits(bits);
  }
  std::byte* bytes(size_t n) override;
  uint64_t* counts(size_t n) override;
  void set_count(uint64_t* count, uint64_t value) override;
  void widen(const SparseSpan& in, void* to) override;
  void accumulate_select(const Gradient& gradient, size_t k, const SparseBuffer& selected) override;
  void accumulate_above(const Gradient& gradient, uint64_t key,
                        const SparseBuffer& selected) override;
  void accumulate(const Gradient& gradient, void* acc) override;
  KeySpace keys() const override { return host_.keys(); }
  void copy_canonical(const void* from, size_t count, void* to) override;
  void scale(void* values, size_t count, double factor) override;
  void zero(void* values, size_t count) override;
  void top_k(const SparseSpan& in, size_t k, const SparseBuffer& kept,
             const SparseBuffer& dropped) override;
  void merge(std::span<const SparseSpan> inputs, const SparseBuffer& sum) override;
  void merge_above(std::span<const SparseSpan> inputs, uint64_t key,
                   const SparseBuffer& out) override;
  void concatenate(std::span<const SparseSpan> inputs, const SparseBuffer& out) override;
  void select_above(const SparseSpan& in, const Threshold& threshold,
                    const SparseBuffer& out) override;
  void least_key(const SparseSpan& in, uint64_t* key) override;
  void key_histogram(const SparseSpan& in, const KeyBins& bins, uint64_t* bin) override;
  void index_histogram(const SparseSpan& in, uint64_t width, uint64_t* bin) override;
  void round_to_bf16(const SparseSpan& in, void* rounded, void* lost) override;
  void round_to_int8(const SparseSpan& in, void* rounded, void* lost) override;
  std::optional<SparseSpan> slice(const SparseSpan&, const Region&) override { return {}; }
  void pack_all(const SparseSpan& in, std::span<const Region> regions, const Packets& out) override;
  void wait_packed(const std::byte*) override {}  // the host sees no messages
  void prefetch(ConstBytes) override {}
  void count_entries(std::span<const Message> messages, size_t* out) override;
  void unpack_all(std::span<const Message> messages, std::span<const SparseBuffer> out,
                  uint64_t* fault) override;
  void put_back(const Feedback& feedback, void* residual) override;
  void keep_cancelled(const void* acc, const SparseSpan& sum, void* residual) override;
  void deliver(const SparseSpan& in, int divisor, const SparseBuffer& out) override;
  void deliver_concatenated(std::span<const SparseSpan> inputs, const SparseBuffer& out) override;
  void scatter(const SparseSpan& in, int divisor, const Region& region, void* dense) override;
  void check_indices(const SparseSpan& in, const Region& region, uint64_t* first_bad) override;
  void push_sum_share(const void* values, size_t count, double share, void* out) override;
  void push_sum_add_change(const SparseSpan& change, double sign, void* copy) override;
  void push_sum_mix(const void* copy, size_t count, double share, void* net) override;
  void push_sum_split_weight(double* weight, std::span<const double> shares,
                             std::span<double* const> out) override;
  void push_sum_add_weights(double* weight, std::span<const double* const> arrived) override;
  void push_sum_update(const PushSumUpdate& update, size_t count, void* x, void* estimate) override;
  const std::byte* upload(ConstBytes host) override { return host.data(); }
  std::byte* download_buffer(Bytes host) override { return host.data(); }
  void download(const std::byte* from, Bytes host) override;
  void copy(const void* from, size_t bytes, void* to) override;
  void read(const uint64_t* counts, size_t n, uint64_t* out) override;

 private:
  std::byte* slab(size_t n, size_t) override { return bytes(n); }

  Kernels& host_;
  Arena& arena_;
  DeferredStream& stream_;
  size_t reads_ = 0;
};

/// A call whose exchanges are work on the stream, with messages as long as their bounds. An
/// exchange with a message of unknown size throws.
class DeferredCall final : public Call {
 public:
  DeferredCall(Transport& transport, Arena& arena, DeferredStream& stream)
      : transport_(transport),
        arena_(arena),
        stream_(stream),
        arrived_(static_cast<size_t>(transport.size())) {}

  int rank() const override { return transport_.rank(); }
  int size() const override { return transport_.size(); }
  void exchange_each(std::span<Transfer> transfers,
                     FunctionRef<void(size_t transfer)> on_message) override;

 private:
  void send(const Transfer& transfer);
  void receive(int peer, std::byte* into, size_t bound);

  Transport& transport_;
  Arena& arena_;
  DeferredStream& stream_;
  std::vector<std::deque<Buffer>> arrived_;
};

}  // namespace sparsecoll::test
