// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/merge/merge.cuh"
#include "kernels/cuda/push_sum/push_sum.cuh"
#include "kernels/cuda/push_sum/push_sum_weight.cuh"
#include "kernels/cuda/results.cuh"
#include "kernels/cuda/select/histogram.cuh"
#include "kernels/cuda/select/sampled_select.cuh"
#include "kernels/cuda/wire/headers.cuh"
#include "kernels/cuda/wire/pack.cuh"
#include "kernels/cuda/wire/unpack.cuh"

namespace sparsecoll::cuda {

/// The kernels of one value and one index type on a device. Every call queues work on the backend's
/// stream. Results equal those of the host's plain loops bit for bit.
template <class T, class I>
class CudaKernels : public Kernels {
 protected:
  using Acc = Accumulation<T>;
  using In = View<Acc, I>;

 public:
  explicit CudaKernels(Backend& backend) : backend_(backend) {}

  DataType data_type() const override { return data_type_of<T>(); }
  IndexType index_type() const override {
    return sizeof(I) == 4 ? IndexType::index32 : IndexType::index64;
  }
  KeySpace keys() const override { return {kKeyEnd<Acc>, std::numeric_limits<Acc>::digits - 1}; }

  std::byte* bytes(size_t n) override { return backend_.arena().take<std::byte>(n); }
  uint64_t* counts(size_t n) override { return cuda::zeroed<uint64_t>(backend_, n); }
  void set_count(uint64_t* count, uint64_t value) override {
    cuda::set_count(backend_, count, value);
  }

  const std::byte* upload(ConstBytes host) override {
    if (const std::byte* here = backend_.staging().device_copy_of(host)) return here;
    std::byte* const at = backend_.arena().take<std::byte>(host.size());
    const DeviceTimeline::Scope copying(
        backend_.timeline(), {"copy to device", {"bytes", host.size()}}, backend_.stream());
    backend_.copy(host.data(), host.size(), at);
    return at;
  }
  std::byte* download_buffer(Bytes host) override { return bytes(host.size()); }
  void download(const std::byte* stand_in, Bytes host) override {
    {
      const DeviceTimeline::Scope copying(
          backend_.timeline(), {"copy to host", {"bytes", host.size()}}, backend_.stream());
      backend_.copy(stand_in, host.size(), host.data());
    }
    backend_.wait();
  }
  void copy(const void* from, size_t n, void* to) override { backend_.copy(from, n, to); }

  void widen(const SparseSpan& in, void* to) override {
    cuda::widen<T>(backend_, in, static_cast<Acc*>(to));
  }
  void accumulate_select(const Gradient& gradient, size_t k,
                         const SparseBuffer& selected) override {
    cuda::accumulate_select<T, I>(backend_, gradient, k, selected);
  }
  void accumulate_above(const Gradient& gradient, uint64_t key,
                        const SparseBuffer& selected) override {
    cuda::accumulate_above<T, I>(backend_, gradient, key, selected);
  }
  void accumulate(const Gradient& gradient, void* acc) override {
    cuda::accumulate<T>(backend_, gradient, static_cast<Acc*>(acc));
  }
  void zero(void* values, size_t count) override {
    cuda::zero(backend_, static_cast<Acc*>(values), count);
  }
  void top_k(const SparseSpan& in, size_t k, const SparseBuffer& kept,
             const SparseBuffer& dropped) override {
    cuda::top_k<Acc, I>(backend_, In(in), k, kept, dropped);
  }
  void merge(std::span<const SparseSpan> inputs, const SparseBuffer& sum) override {
    cuda::merge<Acc, I>(backend_, inputs, sum);
  }
  void merge_above(std::span<const SparseSpan> inputs, uint64_t key,
                   const SparseBuffer& out) override {
    const Arena::Scope scope(backend_.arena());
    const SparseBuffer sum = sparse(out.capacity);
    merge(inputs, sum);
    select_above(sum.span(), {key - 1, 0}, out);
  }
  void concatenate(std::span<const SparseSpan> inputs, const SparseBuffer& out) override {
    cuda::concatenate<Acc, I>(backend_, inputs, out);
  }
  void select_above(const SparseSpan& in, const Threshold& threshold,
                    const SparseBuffer& out) override {
    cuda::above<Acc, I>(backend_, In(in), threshold, out);
  }
  void least_key(const SparseSpan& in, uint64_t* key) override {
    cuda::least_key(backend_, In(in), key);
  }
  void key_histogram(const SparseSpan& in, const KeyBins& bins, uint64_t* bin) override {
    cuda::key_histogram(backend_, In(in), bins, bin);
  }
  void index_histogram(const SparseSpan& in, uint64_t width, uint64_t* bin) override {
    cuda::index_histogram(backend_, In(in), width, bin);
  }
  void round_to_bf16(const SparseSpan& in, void* rounded, void* lost) override {
    if constexpr (!Integer<T>)
      cuda::round_to_bf16(backend_, In(in), static_cast<Acc*>(rounded), static_cast<Acc*>(lost));
  }
  void round_to_int8(const SparseSpan& in, void* rounded, void* lost) override {
    if constexpr (!Integer<T>)
      cuda::round_to_int8(backend_, In(in), block_size(), scale_bits().value(),
                          static_cast<Acc*>(rounded), static_cast<Acc*>(lost));
  }
  /// Returns nothing: only the device knows where a region's entries begin.
  std::optional<SparseSpan> slice(const SparseSpan&, const Region&) override { return {}; }
  void pack_all(const SparseSpan& in, std::span<const Region> regions,
                const Packets& out) override {
    switch (in.precision) {
      case Precision::accumulated:
        return cuda::pack_all<Acc, T>(backend_, In(in), *this, regions, out);
      case Precision::stored:
        return cuda::pack_all<T, T>(backend_, In(in), *this, regions, out);
      case Precision::bfloat16:
        if constexpr (!Integer<T>)
          cuda::pack_all<Bfloat16, T>(backend_, In(in), *this, regions, out);
        break;
      case Precision::int8:
        if constexpr (!Integer<T>) cuda::pack_all<Int8, T>(backend_, In(in), *this, regions, out);
    }
  }
  void wait_packed(const std::byte* end) override { backend_.staging().wait_for(end); }
  void keep_large_on_device() override { keeps_large_on_device_ = true; }
  bool is_on_device(const std::byte* message) const override {
    return backend_.staging().is_kept_on_device(message);
  }
  bool receive_on_device(ConstBytes message) override {
    backend_.staging().keep_on_device(message);
    return true;
  }
  void prefetch(ConstBytes message) override {
    if (message.size() < backend_.tuning().prefetch_from ||
        backend_.staging().device_copy_of(message))
      return;
    backend_.staging().prefetch(message, bytes(message.size()), backend_.stream());
  }
  void count_entries(std::span<const Message> messages, size_t* out) override {
    if (backend_.messages() == MessageLocation::on_device)
      return cuda::entries(backend_, messages, *this, out);
    std::vector<Message> on_device;
    std::vector<size_t*> of_device;
    for (const Message& each : messages) {
      if (is_on_device(each.bytes.data())) {
        on_device.push_back(each);
        of_device.push_back(out++);
        continue;
      }
      // it may be this rank's own message, which is still being packed
      wait_packed(each.bytes.data() + each.bytes.size());
      *out++ = wire_entries(each.bytes, data_type(), format_of(each));
    }
    if (on_device.empty()) return;
    std::vector<size_t> entries(on_device.size());
    cuda::entries(backend_, on_device, *this, entries.data());
    for (size_t m = 0; m < on_device.size(); ++m) *of_device[m] = entries[m];
  }
  void unpack_all(std::span<const Message> messages, std::span<const SparseBuffer> out,
                  uint64_t* fault) override {
    const Arena::Scope scope(backend_.arena());
    std::vector<Message> here(messages.begin(), messages.end());
    if (backend_.messages() == MessageLocation::on_host)
      for (Message& each : here) each.bytes = {upload(each.bytes), each.bytes.size()};
    cuda::unpack_all<T, I>(backend_, here, *this, out, fault);
  }
  void put_back(const Feedback& feedback, void* residual) override {
    cuda::put_back<Acc, I>(backend_, feedback, static_cast<Acc*>(residual));
  }
  void keep_cancelled(const void* acc, const SparseSpan& sum, void* residual) override {
    cuda::keep_cancelled(backend_, static_cast<const Acc*>(acc), sum, static_cast<Acc*>(residual));
  }
  void deliver(const SparseSpan& in, int divisor, const SparseBuffer& out) override {
    cuda::deliver<T, I>(backend_, In(in), divisor, out);
  }
  void deliver_concatenated(std::span<const SparseSpan> inputs, const SparseBuffer& out) override {
    cuda::deliver_concatenated<T, I>(backend_, inputs, out);
  }
  void scatter(const SparseSpan& in, int divisor, const Region& region, void* dense) override {
    cuda::scatter<T, I>(backend_, In(in), divisor, region, static_cast<T*>(dense));
  }
  void copy_canonical(const void* from, size_t count, void* to) override {
    cuda::copy_canonical(backend_, static_cast<const Acc*>(from), count, static_cast<Acc*>(to));
  }
  void scale(void* values, size_t count, double factor) override {
    cuda::scale(backend_, static_cast<Acc*>(values), count, factor);
  }
  void check_indices(const SparseSpan& in, const Region& region, uint64_t* first_bad) override {
    cuda::check_indices(backend_, In(in), region, first_bad);
  }
  void push_sum_share(const void* values, size_t count, double share, void* out) override {
    cuda::push_sum_share(backend_, std::span(static_cast<const T*>(values), count), share,
                         static_cast<T*>(out));
  }
  void push_sum_add_change(const SparseSpan& change, double sign, void* copy) override {
    cuda::push_sum_add_change(backend_, In(change), sign, static_cast<Acc*>(copy));
  }
  void push_sum_mix(const void* copy, size_t count, double share, void* net) override {
    cuda::push_sum_mix(backend_, std::span(static_cast<const Acc*>(copy), count), share,
                       static_cast<Acc*>(net));
  }
  void push_sum_split_weight(double* weight, std::span<const double> shares,
                             std::span<double* const> out) override {
    cuda::push_sum_split_weight(backend_, weight, shares, out);
  }
  void push_sum_add_weights(double* weight, std::span<const double* const> arrived) override {
    cuda::push_sum_add_weights(backend_, weight, arrived);
  }
  void push_sum_update(const PushSumUpdate& terms, size_t count, void* x, void* estimate) override {
    cuda::push_sum_update(backend_, terms, std::span(static_cast<T*>(x), count),
                          static_cast<T*>(estimate));
  }
  void read(const uint64_t* counts, size_t n, uint64_t* out) override {
    backend_.read(counts, n, out);
  }

 protected:
  Backend& backend_;

 private:
  std::byte* slab(size_t n, size_t messages) override {
    if (!keeps_large_on_device_ || n / std::max<size_t>(messages, 1) < backend_.tuning().hide_from)
      return backend_.slabs().template take<std::byte>(n);
    std::byte* const here = backend_.device_slabs().template take<std::byte>(n);
    backend_.staging().keep_on_device({here, n});
    return here;
  }

  bool keeps_large_on_device_ = false;
};

}  // namespace sparsecoll::cuda
