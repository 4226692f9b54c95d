// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
//
// What agreement in stream order needs: messages say which call they are of, and the host, which
// does not wait, finds out later what did not fit. One launch each for 240 messages or more, which
// travel in its parameters: no workspace, so that they run on any stream.
#include "kernels/cuda/merge/table.cuh"
#include "kernels/cuda/stamps.hpp"

namespace sparsecoll::cuda {

namespace {

__global__ void __launch_bounds__(kThreads)
    store_stamps(Rows<std::byte*> messages, size_t n, Stamp stamp) {
  for (size_t p = threadIdx.x; p < n; p += kThreads)
    *reinterpret_cast<Stamp*>(messages.row[p]) = stamp;
}

/// One block. What it finds first in the order of peers is told, whatever the order of threads.
__global__ void __launch_bounds__(kThreads)
    compare_stamps(Rows<StampedMessage> messages, size_t n, Stamp expected, Alarm* alarm) {
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

/// use(rows, n) for all of them, as many at a time as a launch carries.
template <class Row, class Use>
void in_rows(std::span<const Row> all, const Use& use) {
  while (!all.empty()) {
    Rows<Row> rows{};
    const size_t n = std::min(all.size(), Rows<Row>::kMost);
    std::copy_n(all.begin(), n, rows.row);
    use(rows, n);
    all = all.subspan(n);
  }
}

struct Settle {
  CallCounts counts;
  DeviceReport books;
  __device__ void operator()(size_t) const {
    DeviceTotals tally = *books.tally;
    if (!counts.adds) tally.last_selected = tally.last_result = 0;
    tally.last_selected += *counts.selected;
    tally.last_result += *counts.result;
    tally.selected += *counts.selected;
    tally.result += *counts.result;
    *books.tally = *books.mirror = tally;
    if (*counts.fault != 0 && books.alarm->reason == Alarm::nothing)
      books.alarm->reason = Alarm::malformed;
  }
};

}  // namespace

void put_stamps(Backend& backend, std::span<std::byte* const> messages, const Stamp& stamp) {
  in_rows<std::byte*>(messages, [&](const Rows<std::byte*>& rows, size_t n) {
    launch(backend, 1, store_stamps, rows, n, stamp);
  });
}

void check_stamps(Backend& backend, std::span<const StampedMessage> messages, const Stamp& expected,
                  Alarm* alarm) {
  in_rows<StampedMessage>(messages, [&](const Rows<StampedMessage>& rows, size_t n) {
    launch(backend, 1, compare_stamps, rows, n, expected, alarm);
  });
}

void settle(Backend& backend, const CallCounts& counts, const DeviceReport& books) {
  for_each(backend, {nullptr, 1}, Settle{counts, books});
}

const void* kernel_of_stamps() { return reinterpret_cast<const void*>(&compare_stamps); }

}  // namespace sparsecoll::cuda
