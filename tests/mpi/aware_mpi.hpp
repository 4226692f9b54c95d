// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A CUDA-aware MPI in front of the one that there is, for memory of the machine of ../simt, which
// none can touch. Programs that are linked with aware_mpi.cpp have it. It ends a program that
// - sends before what it sends is there, or writes to it before it has been sent (the peer finds
//   the one, the end of the send the other);
// - sends, receives or tests while another device than that of the memory is current;
// - gives it memory of a device in another call, or frees what is under way.

#include <cstddef>

namespace sparsecoll::test::aware {

/// Messages and their bytes that were sent from, or have been received into, memory of a device.
struct Moved {
  size_t sent = 0, received = 0;
  size_t bytes_sent = 0, bytes_received = 0;
};
Moved moved();

/// Sets the result of MPIX_Query_cuda_support(), which is true at first.
void says(bool aware);

/// Holds all requests: none of them is reported as complete.
void hold(bool held);

/// Whether the memory of all that is under way is still allocated.
bool under_way_is_there();

}  // namespace sparsecoll::test::aware
