// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/deferred_backend.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace sparsecoll::test {

namespace {

constexpr int kPoisonByte = 0xa5;
constexpr auto kPatience = std::chrono::seconds(60);

/// Host arrays of a launch are read by the launch itself, so queued work needs its own copy.
template <class T>
std::vector<T> own_copy(std::span<const T> values) {
  return {values.begin(), values.end()};
}

}  // namespace

void DeferredStream::drain() {
  // Work does not submit work.
  for (const auto& each : work_) each();
  submitted_ += work_.size();
  work_.clear();
}

std::byte* DeferredKernels::bytes(size_t n) {
  std::byte* at = arena_.take<std::byte>(n);
  std::memset(at, kPoisonByte, n);
  return at;
}

uint64_t* DeferredKernels::counts(size_t n) {
  auto* at = reinterpret_cast<uint64_t*>(bytes(n * sizeof(uint64_t)));
  stream_.submit([=] { std::fill_n(at, n, 0); });
  return at;
}

void DeferredKernels::set_count(uint64_t* count, uint64_t value) {
  stream_.submit([=, this] { host_.set_count(count, value); });
}

void DeferredKernels::accumulate_select(const Gradient& gradient, size_t k,
                                        const SparseBuffer& selected) {
  stream_.submit([=, this] { host_.accumulate_select(gradient, k, selected); });
}

void DeferredKernels::accumulate_above(const Gradient& gradient, uint64_t key,
                                       const SparseBuffer& selected) {
  stream_.submit([=, this] { host_.accumulate_above(gradient, key, selected); });
}

void DeferredKernels::accumulate(const Gradient& gradient, void* acc) {
  stream_.submit([=, this] { host_.accumulate(gradient, acc); });
}

void DeferredKernels::widen(const SparseSpan& in, void* to) {
  stream_.submit([=, this] { host_.widen(in, to); });
}

void DeferredKernels::copy_canonical(const void* from, size_t count, void* to) {
  stream_.submit([=, this] { host_.copy_canonical(from, count, to); });
}

void DeferredKernels::scale(void* values, size_t count, double factor) {
  stream_.submit([=, this] { host_.scale(values, count, factor); });
}

void DeferredKernels::zero(void* values, size_t count) {
  stream_.submit([=, this] { host_.zero(values, count); });
}

void DeferredKernels::top_k(const SparseSpan& in, size_t k, const SparseBuffer& kept,
                            const SparseBuffer& dropped) {
  stream_.submit([=, this] { host_.top_k(in, k, kept, dropped); });
}

void DeferredKernels::merge(std::span<const SparseSpan> inputs, const SparseBuffer& sum) {
  stream_.submit([=, this, own = own_copy(inputs)] { host_.merge(own, sum); });
}

void DeferredKernels::merge_above(std::span<const SparseSpan> inputs, uint64_t key,
                                  const SparseBuffer& out) {
  stream_.submit([=, this, own = own_copy(inputs)] { host_.merge_above(own, key, out); });
}

void DeferredKernels::concatenate(std::span<const SparseSpan> inputs, const SparseBuffer& out) {
  stream_.submit([=, this, own = own_copy(inputs)] { host_.concatenate(own, out); });
}

void DeferredKernels::select_above(const SparseSpan& in, const Threshold& threshold,
                                   const SparseBuffer& out) {
  stream_.submit([=, this] { host_.select_above(in, threshold, out); });
}

void DeferredKernels::least_key(const SparseSpan& in, uint64_t* key) {
  stream_.submit([=, this] { host_.least_key(in, key); });
}

void DeferredKernels::key_histogram(const SparseSpan& in, const KeyBins& bins, uint64_t* bin) {
  stream_.submit([=, this] { host_.key_histogram(in, bins, bin); });
}

void DeferredKernels::index_histogram(const SparseSpan& in, uint64_t width, uint64_t* bin) {
  stream_.submit([=, this] { host_.index_histogram(in, width, bin); });
}

void DeferredKernels::pack_all(const SparseSpan& in, std::span<const Region> regions,
                               const Packets& out) {
  stream_.submit([=, this, own = own_copy(regions)] {
    host_.pack_all(in, own, out);
    host_.wait_packed(out.slab + out.capacity);
  });
}

void DeferredKernels::count_entries(std::span<const Message> messages, size_t* out) {
  ++reads_;
  stream_.drain();
  host_.count_entries(messages, out);
}

void DeferredKernels::unpack_all(std::span<const Message> messages,
                                 std::span<const SparseBuffer> out, uint64_t* fault) {
  stream_.submit([=, this, own = own_copy(messages), buffers = own_copy(out)] {
    host_.unpack_all(own, buffers, fault);
  });
}

void DeferredKernels::round_to_bf16(const SparseSpan& in, void* rounded, void* lost) {
  stream_.submit([=, this] { host_.round_to_bf16(in, rounded, lost); });
}

void DeferredKernels::round_to_int8(const SparseSpan& in, void* rounded, void* lost) {
  stream_.submit([=, this] { host_.round_to_int8(in, rounded, lost); });
}

void DeferredKernels::put_back(const Feedback& feedback, void* residual) {
  stream_.submit([=, this] { host_.put_back(feedback, residual); });
}

void DeferredKernels::keep_cancelled(const void* acc, const SparseSpan& sum, void* residual) {
  stream_.submit([=, this] { host_.keep_cancelled(acc, sum, residual); });
}

void DeferredKernels::deliver(const SparseSpan& in, int divisor, const SparseBuffer& out) {
  stream_.submit([=, this] { host_.deliver(in, divisor, out); });
}

void DeferredKernels::deliver_concatenated(std::span<const SparseSpan> inputs,
                                           const SparseBuffer& out) {
  stream_.submit([=, this, own = own_copy(inputs)] { host_.deliver_concatenated(own, out); });
}

void DeferredKernels::scatter(const SparseSpan& in, int divisor, const Region& region,
                              void* dense) {
  stream_.submit([=, this] { host_.scatter(in, divisor, region, dense); });
}

void DeferredKernels::check_indices(const SparseSpan& in, const Region& region,
                                    uint64_t* first_bad) {
  stream_.submit([=, this] { host_.check_indices(in, region, first_bad); });
}

void DeferredKernels::push_sum_share(const void* values, size_t count, double share, void* out) {
  stream_.submit([=, this] { host_.push_sum_share(values, count, share, out); });
}

void DeferredKernels::push_sum_add_change(const SparseSpan& change, double sign, void* copy) {
  stream_.submit([=, this] { host_.push_sum_add_change(change, sign, copy); });
}

void DeferredKernels::push_sum_mix(const void* copy, size_t count, double share, void* net) {
  stream_.submit([=, this] { host_.push_sum_mix(copy, count, share, net); });
}

void DeferredKernels::push_sum_split_weight(double* weight, std::span<const double> shares,
                                            std::span<double* const> out) {
  stream_.submit([=, this, parts = own_copy(shares), to = own_copy(out)] {
    host_.push_sum_split_weight(weight, parts, to);
  });
}

void DeferredKernels::push_sum_add_weights(double* weight, std::span<const double* const> arrived) {
  stream_.submit([=, this, all = own_copy(arrived)] { host_.push_sum_add_weights(weight, all); });
}

void DeferredKernels::push_sum_update(const PushSumUpdate& update, size_t count, void* x,
                                      void* estimate) {
  stream_.submit([=, this, shares = own_copy(update.shares), arrived = own_copy(update.arrived)] {
    host_.push_sum_update({shares, arrived, update.net, update.weight, update.weight_at}, count, x,
                          estimate);
  });
}

void DeferredKernels::download(const std::byte*, Bytes) {
  ++reads_;
  stream_.drain();
}

void DeferredKernels::copy(const void* from, size_t bytes, void* to) {
  stream_.submit([=, this] { host_.copy(from, bytes, to); });
}

void DeferredKernels::read(const uint64_t* counts, size_t n, uint64_t* out) {
  ++reads_;
  stream_.drain();
  std::copy_n(counts, n, out);
}

void DeferredCall::exchange_each(std::span<Transfer> transfers,
                                 FunctionRef<void(size_t transfer)> on_message) {
  std::vector<Transfer> queued;
  for (Transfer& transfer : transfers) {
    if (transfer.in_bound == kUnknownSize)
      throw std::logic_error("a stream-ordered exchange needs sizes known beforehand");
    if (transfer.in_bound > 0) {
      std::byte* at = arena_.take<std::byte>(transfer.in_bound);
      std::memset(at, kPoisonByte, transfer.in_bound);
      transfer.in = {at, transfer.in_bound};
    }
    queued.push_back(transfer);
  }
  stream_.submit([this, queued] {
    for (const Transfer& transfer : queued)
      if (transfer.out.data) send(transfer);
    for (const Transfer& transfer : queued)
      if (transfer.in_bound > 0)
        receive(transfer.peer, const_cast<std::byte*>(transfer.in.data()), transfer.in_bound);
  });
  visit_received(transfers, on_message);
}

void DeferredCall::send(const Transfer& transfer) {
  // The message has the agreed size, even if only a part of it is used.
  std::vector<std::byte> message(transfer.out.agreed_bytes);
  std::copy_n(transfer.out.data, std::min(transfer.out.bound, transfer.out.agreed_bytes),
              message.begin());
  transport_.send(transfer.peer, message);
}

void DeferredCall::receive(int peer, std::byte* into, size_t bound) {
  auto& queue = arrived_[static_cast<size_t>(peer)];
  for (const auto limit = Clock::now() + kPatience; queue.empty();) {
    if (auto message = transport_.poll())
      arrived_[static_cast<size_t>(message->peer)].push_back(std::move(message->bytes));
    else if (Clock::now() > limit)
      throw std::runtime_error("nothing arrived");
    else
      transport_.idle(Clock::now() + std::chrono::milliseconds(1));
  }
  // Both sides must give the same size, because NCCL requires it.
  if (queue.front().size() != bound) throw std::runtime_error("the bounds of both sides differ");
  std::memcpy(into, queue.front().data(), queue.front().size());
  queue.pop_front();
}

}  // namespace sparsecoll::test
