// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#ifndef SPARSECOLL_TESTS_SIMT_MACHINE_HPP_
#define SPARSECOLL_TESTS_SIMT_MACHINE_HPP_

// What the files of the runtime share.

#include <cuda_runtime.h>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>

#include "engine.hpp"
#include "heap.hpp"

struct CUstream_st {
  /// In order with the legacy default stream, whose work it shares.
  bool blocking = false;
  std::deque<std::function<void()>> work = {};
  bool captured = false;
};

/// What it stands for: null before it was recorded, else whether all of that has run, and where.
struct CUevent_st {
  std::shared_ptr<bool> done;
  CUstream_st* stream = nullptr;
};

namespace simt {

extern std::mutex mutex;  ///< of all that follows
extern std::set<CUstream_st*> streams;
extern std::atomic<bool> used[kDevices];  ///< devices by somebody, which makes a context there
extern std::atomic<size_t> allocated;
extern thread_local int current;  ///< device

Heap& heap();
/// Whose work a stream's is.
CUstream_st& of(cudaStream_t stream);
/// Runs what is queued: all of it, until an event, of all streams.
void drain(CUstream_st& stream);
void drain(const CUevent_st& event);
void drain_all();
/// Whether the call that asks is the one that is to fail.
bool fails();

}  // namespace simt

#endif  // SPARSECOLL_TESTS_SIMT_MACHINE_HPP_
