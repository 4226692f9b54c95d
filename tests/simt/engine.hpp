// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// An emulator that runs CUDA kernels on a machine without a GPU. Every thread of a block is a
// fiber, every block is a thread of the operating system, and a stream is a list of the work to do
// at the next synchronisation. It is made to find faults, not to be fast:
//
// - The order of threads and blocks is random (SIMT_SEED), so that a missing barrier shows.
// - Only kernels and copies can access device memory, which is full of 0xcd at first. A write
//   outside of an allocation is reported when the memory is freed or allocated the next time.
// - The program ends with a message that says which thread waits where, if a thread does not reach
//   a barrier or an exchange of its warp, has ended before it, or takes part in another exchange.
// - Blocks run in parallel, so that a thread sanitizer sees them race. All blocks of a cooperative
//   launch run at the same time; a launch of too many blocks is refused.
// - Parameters are copied at the launch, but host memory is read as late as the next
//   synchronisation, so that it may have changed.
// - A stream runs when a thread waits for it, in that thread, and only as far as the thread waits.
//   If the stream depends on other streams, these run first; if they cannot, the thread sleeps. A
//   query reports the work that was done before the query.
// - Each device has a legacy stream, which is in order with the device's blocking streams only.
// - A captured stream runs nothing before its graph is launched. A call that breaks a capture on a
//   GPU breaks it here. CUDA calls some functions only "potentially unsafe"; the emulator takes all
//   those that wait, query, allocate or free for such functions.
//
// It does not find races inside a block that the order does not show, reads of shared memory before
// it is written (it is zero, or what an earlier block left), host pointers in a kernel, and
// misaligned vectors (a sanitizer finds these). It says nothing about speed. A thread that waits in
// a loop for another thread waits for ever.

#include <cstddef>

namespace simt {

/// Number of multiprocessors: SIMT_MULTIPROCESSORS, or kMultiprocessors. Sums over hundreds of
/// blocks use other code than sums over a few.
int multiprocessors();

/// Number of kernels that this process has launched. For tests of how many a call needs.
size_t launches();

/// Number of allocations of this process, of device or page-locked memory.
size_t allocations();

/// Number of waits for a stream or an event in this process.
size_t waits();

/// Makes the n-th call of the runtime from now on fail. 1: the next one; 0: none. Calls that free
/// something do not count. Returns how many calls were missing until the failure that was asked for
/// before; 0: it has happened, or none was asked for.
size_t fail_at(size_t n);

/// Returns whether this process has made a call that creates a context on a GPU.
bool context_exists();
bool context_exists_on(int device);

/// Number of devices, one for each of many ranks. They share one heap.
inline constexpr int kDevices = 16;

}  // namespace simt
