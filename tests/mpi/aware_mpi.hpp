// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A stand-in of a CUDA-aware MPI, which replaces functions of the real MPI and accepts device
// memory of the emulator (../simt). Programs link it with aware_mpi.cpp. It ends a program that
// - sends before what it sends is there, or writes to it before it has been sent (the peer finds
//   the one, the end of the send the other);
// - sends, receives or tests while another device than that of the memory is current;
// - gives it memory of a device in another call, or frees what is under way.

#include <cstddef>

namespace sparsecoll::test::aware {

/// The messages that were sent from or received into device memory, and their bytes.
struct Moved {
  size_t sent = 0, received = 0;
  size_t bytes_sent = 0, bytes_received = 0;
};
Moved moved();

/// Sets the result of MPIX_Query_cuda_support(), which is true at first.
void says(bool aware);

/// Reports no request as complete while `held` is true.
void hold(bool held);

/// Returns whether the memory of all pending messages is still allocated.
bool under_way_is_there();

}  // namespace sparsecoll::test::aware
