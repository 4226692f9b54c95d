// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
//
// What agreement in stream order needs: messages say which call they are of, and the host, which
// does not wait, finds out later what did not fit. One launch each, and one for every 480 messages
// to name them.
#include "kernels/cuda/stamps.hpp"
#include "kernels/cuda/table.cuh"

namespace sparsecoll::cuda {

namespace {

struct PutStamp {
  std::byte* const* messages;
  Stamp stamp;
  __device__ void operator()(size_t p) const { *reinterpret_cast<Stamp*>(messages[p]) = stamp; }
};

/// One block. What it finds first in the order of peers is told, whatever the order of threads.
__global__ void __launch_bounds__(kThreads)
    compare_stamps(const Stamped* messages, size_t n, Stamp expected, Alarm* alarm) {
  __shared__ unsigned long long worst;
  if (threadIdx.x == 0) worst = n;
  __syncthreads();
  for (size_t p = threadIdx.x; p < n; p += kThreads) {
    const Stamp got = *reinterpret_cast<const Stamp*>(messages[p].at);
    if (got.sequence != expected.sequence || got.hash != expected.hash)
      atomicMin(&worst, static_cast<unsigned long long>(p));
  }
  __syncthreads();
  if (threadIdx.x != 0 || worst == n || alarm->reason != Alarm::nothing) return;
  alarm->peer = static_cast<uint64_t>(messages[worst].peer);
  alarm->got = *reinterpret_cast<const Stamp*>(messages[worst].at);
  __threadfence_system();
  alarm->reason = Alarm::other_call;
}

struct Settle {
  Settlement counts;
  Books books;
  __device__ void operator()(size_t) const {
    Tally tally = *books.tally;
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

void put_stamps(Place& place, std::span<std::byte* const> messages, const Stamp& stamp) {
  const Arena::Scope scope(place.arena());
  std::byte* const* const all =
      table<std::byte*>(place, messages.size(), [&](size_t p) { return messages[p]; });
  for_each(place, {nullptr, messages.size()}, PutStamp{all, stamp});
}

void check_stamps(Place& place, std::span<const Stamped> messages, const Stamp& expected,
                  Alarm* alarm) {
  const Arena::Scope scope(place.arena());
  const Stamped* const all =
      table<Stamped>(place, messages.size(), [&](size_t p) { return messages[p]; });
  launch(place, 1, compare_stamps, all, messages.size(), expected, alarm);
}

void settle(Place& place, const Settlement& counts, const Books& books) {
  for_each(place, {nullptr, 1}, Settle{counts, books});
}

const void* kernel_of_stamps() { return reinterpret_cast<const void*>(&compare_stamps); }

}  // namespace sparsecoll::cuda
