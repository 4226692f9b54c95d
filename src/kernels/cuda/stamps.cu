// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
//
// Stamps and counts for agreement in stream order. Each message begins with a stamp that says which
// call it belongs to. The host does not wait; it finds out later if a stamp did not match. A launch
// handles as many messages as its parameters have room for, at least 240. It needs no workspace, so
// it can run on any stream.
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/stamps.hpp"

namespace sparsecoll::cuda {

namespace {

__global__ void __launch_bounds__(kThreads)
    store_stamps(ParameterArray<std::byte*> messages, size_t n, Stamp stamp) {
  for (size_t p = threadIdx.x; p < n; p += kThreads)
    *reinterpret_cast<Stamp*>(messages.row[p]) = stamp;
}

/// One block. Reports the mismatch of the lowest peer, whatever the order of threads.
__global__ void __launch_bounds__(kThreads) compare_stamps(ParameterArray<StampedMessage> messages,
                                                           size_t n, Stamp expected, Alarm* alarm) {
  __shared__ unsigned long long worst;
  if (threadIdx.x == 0) worst = n;
  __syncthreads();
  for (size_t p = threadIdx.x; p < n; p += kThreads) {
    const Stamp got = *reinterpret_cast<const Stamp*>(messages.row[p].at);
    if (got.sequence != expected.sequence || got.hash != expected.hash)
      atomicMin(&worst, static_cast<unsigned long long>(p));
  }
  __syncthreads();
  if (threadIdx.x != 0 || worst == n || alarm->reason != Alarm::nothing) return;
  alarm->peer = static_cast<uint64_t>(messages.row[worst].peer);
  alarm->got = *reinterpret_cast<const Stamp*>(messages.row[worst].at);
  __threadfence_system();
  alarm->reason = Alarm::other_call;
}

/// Calls use(array, n) for consecutive parts of `all`, each as long as a launch can carry.
template <class Row, class Use>
void in_parameter_arrays(std::span<const Row> all, const Use& use) {
  while (!all.empty()) {
    ParameterArray<Row> array{};
    const size_t n = std::min(all.size(), ParameterArray<Row>::kCapacity);
    std::copy_n(all.begin(), n, array.row);
    use(array, n);
    all = all.subspan(n);
  }
}

struct AddCounts {
  CallCounts counts;
  DeviceReport report;
  __device__ void operator()(size_t) const {
    DeviceTotals totals = *report.totals;
    if (!counts.adds) totals.last_selected = totals.last_result = 0;
    totals.last_selected += *counts.selected;
    totals.last_result += *counts.result;
    totals.selected += *counts.selected;
    totals.result += *counts.result;
    *report.totals = *report.mirror = totals;
    if (*counts.fault != 0 && report.alarm->reason == Alarm::nothing)
      report.alarm->reason = Alarm::malformed;
  }
};

}  // namespace

void put_stamps(Backend& backend, std::span<std::byte* const> messages, const Stamp& stamp) {
  in_parameter_arrays<std::byte*>(messages, [&](const ParameterArray<std::byte*>& array, size_t n) {
    launch(backend, 1, store_stamps, array, n, stamp);
  });
}

void check_stamps(Backend& backend, std::span<const StampedMessage> messages, const Stamp& expected,
                  Alarm* alarm) {
  in_parameter_arrays<StampedMessage>(
      messages, [&](const ParameterArray<StampedMessage>& array, size_t n) {
        launch(backend, 1, compare_stamps, array, n, expected, alarm);
      });
}

void add_counts(Backend& backend, const CallCounts& counts, const DeviceReport& report) {
  for_each(backend, {nullptr, 1}, AddCounts{counts, report});
}

const void* any_stamp_kernel() { return reinterpret_cast<const void*>(&compare_stamps); }

}  // namespace sparsecoll::cuda
