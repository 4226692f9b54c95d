// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels on a machine without a GPU. Every thread of a block is a fiber, every block a thread of
// the operating system, and a stream is a list of what to do at the next synchronisation. Made to
// find faults, not to be fast:
//
// - the order of threads and blocks is random (SIMT_SEED), so that a missing barrier shows;
// - memory of the device can be touched by kernels and copies only, and is full of 0xcd at first;
//   who writes to nobody's memory is told when that is freed or allocated the next time;
// - a barrier or a warp's exchange that some thread does not reach, or has ended before, or another
//   exchange in the same warp, ends the program with a message that says which thread waits where;
// - blocks run in parallel, so that a thread sanitizer sees them race, and all those of a
//   cooperative launch at once, which is refused when it is too large;
// - parameters are copied at the launch, and whatever is on the host may change before it is read:
//   as late as the next synchronisation;
// - a stream runs when somebody waits for it, no further than that, in the thread that waits; where
//   it has to wait for others those run first, and where they cannot it sleeps. Who asks whether
//   something is done is told what was before the question;
// - each device has a legacy stream, in order with its blocking streams and nobody else's;
// - a captured stream runs nothing before its graph is launched, and what breaks a capture on a GPU
//   breaks it here. Where CUDA says only "potentially unsafe", which calls are is guessed: all that
//   wait, ask, allocate or free.
//
// What it does not find: races inside a block that the order does not show, shared memory that is
// read before it is written (it is zero at first), pointers to the host's memory in a kernel,
// misaligned vectors (a sanitizer does), and, of course, anything about speed. A thread that waits
// for another one in a loop waits for ever.

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
/// something do not count.
void fail_at(size_t n);

/// Returns whether this process has made a call that creates a context on a GPU.
bool context_exists();
bool context_exists_on(int device);

/// Number of devices, one for each of many ranks. They share one heap.
inline constexpr int kDevices = 16;

}  // namespace simt
