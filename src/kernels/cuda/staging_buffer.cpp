// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/staging_buffer.hpp"

#include <algorithm>
#include <functional>

namespace sparsecoll::cuda {

namespace {

/// Whether [from, from + n) lies within; the pointers may be of different allocations.
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
  const Timeline::Span waiting(timeline_ ? &timeline_->host() : nullptr, "wait for device");
  event.wait();
}

void StagingBuffer::bring(std::span<const uint64_t> counts, uint64_t* landing,
                          cudaStream_t stream) {
  check(
      cudaMemcpyAsync(landing, counts.data(), counts.size_bytes(), cudaMemcpyDeviceToHost, stream),
      "cudaMemcpyAsync of counts");
  brought_.push_back({counts, landing, event_on(stream)});
}

bool StagingBuffer::take(const uint64_t* counts, size_t n, uint64_t* to) const {
  const auto found = std::find_if(brought_.rbegin(), brought_.rend(), [&](const Brought& each) {
    return holds(each.counts, counts, n);
  });
  if (found == brought_.rend()) return false;
  wait(*found->there);
  std::copy_n(found->landing + (counts - found->counts.data()), n, to);
  return true;
}

void StagingBuffer::wrote(ConstBytes bytes, cudaStream_t stream) {
  wrote_.push_back({bytes, event_on(stream)});
}

void StagingBuffer::wait_for(const std::byte* end) const {
  const auto found = std::find_if(wrote_.rbegin(), wrote_.rend(),
                                  [&](const Wrote& each) { return holds(each.bytes, end - 1, 1); });
  if (found != wrote_.rend()) wait(*found->there);
}

void StagingBuffer::fetch(ConstBytes host, std::byte* here, cudaStream_t stream) {
  const DeviceTimeline::Span copying(timeline_, {"copy to device", {"bytes", host.size()}}, stream);
  check(cudaMemcpyAsync(here, host.data(), host.size(), cudaMemcpyHostToDevice, stream),
        "cudaMemcpyAsync of a message");
  fetched_.push_back({host, here});
}

const std::byte* StagingBuffer::fetched(ConstBytes host) const {
  for (const Fetched& each : fetched_)
    if (holds(each.host, host.data(), host.size()))
      return each.here + (host.data() - each.host.data());
  return nullptr;
}

void StagingBuffer::forget() {
  used_ = 0;
  brought_.clear();
  wrote_.clear();
  fetched_.clear();
}

}  // namespace sparsecoll::cuda
