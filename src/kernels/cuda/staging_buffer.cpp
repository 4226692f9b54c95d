// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/staging_buffer.hpp"

#include <algorithm>
#include <functional>

namespace sparsecoll::cuda {

namespace {

/// Returns whether [from, from + n) lies in `all`. The pointers may belong to different
/// allocations.
template <class T>
bool holds(std::span<const T> all, const T* from, size_t n) {
  const std::less_equal<const T*> up_to;
  return up_to(all.data(), from) && up_to(from + n, all.data() + all.size());
}

}  // namespace

const CudaEvent* StagingBuffer::event_on(cudaStream_t stream) {
  if (used_ == events_.size()) events_.emplace_back();
  CudaEvent& event = events_[used_++];
  event.record(stream);
  return &event;
}

void StagingBuffer::wait(const CudaEvent& event) const {
  const Timeline::Scope waiting(timeline_ ? &timeline_->host() : nullptr, "wait for device");
  event.wait();
}

void StagingBuffer::copy_counts(std::span<const uint64_t> counts, uint64_t* host_counts,
                                cudaStream_t stream) {
  check(cudaMemcpyAsync(host_counts, counts.data(), counts.size_bytes(), cudaMemcpyDeviceToHost,
                        stream),
        "cudaMemcpyAsync of counts");
  counts_copies_.push_back({counts, host_counts, event_on(stream)});
}

bool StagingBuffer::read_counts(const uint64_t* counts, size_t n, uint64_t* to) const {
  const auto found =
      std::find_if(counts_copies_.rbegin(), counts_copies_.rend(),
                   [&](const CountsCopy& each) { return holds(each.counts, counts, n); });
  if (found == counts_copies_.rend()) return false;
  wait(*found->event);
  std::copy_n(found->host_counts + (counts - found->counts.data()), n, to);
  return true;
}

void StagingBuffer::record_written(ConstBytes bytes, cudaStream_t stream) {
  written_ranges_.push_back({bytes, event_on(stream)});
}

void StagingBuffer::wait_for(const std::byte* end) const {
  const auto found =
      std::find_if(written_ranges_.rbegin(), written_ranges_.rend(),
                   [&](const WrittenRange& each) { return holds(each.bytes, end - 1, 1); });
  if (found != written_ranges_.rend()) wait(*found->event);
}

void StagingBuffer::prefetch(ConstBytes host, std::byte* here, cudaStream_t stream) {
  const DeviceTimeline::Scope copying(timeline_, {"copy to device", {"bytes", host.size()}},
                                      stream);
  check(cudaMemcpyAsync(here, host.data(), host.size(), cudaMemcpyHostToDevice, stream),
        "cudaMemcpyAsync of a message");
  device_copies_.push_back({host, here});
}

const std::byte* StagingBuffer::device_copy_of(ConstBytes host) const {
  for (const DeviceCopy& each : device_copies_)
    if (holds(each.host, host.data(), host.size()))
      return each.here + (host.data() - each.host.data());
  return nullptr;
}

void StagingBuffer::reset() {
  used_ = 0;
  counts_copies_.clear();
  written_ranges_.clear();
  device_copies_.clear();
}

}  // namespace sparsecoll::cuda
