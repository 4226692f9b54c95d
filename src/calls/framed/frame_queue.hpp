// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>

#include "calls/framed/frame.hpp"

namespace sparsecoll {

/// Frames of one sender, in the order in which they arrived. It allocates nothing while it is
/// empty, because a process whose threads are P ranks has 2 P^2 queues.
using FrameQueue = std::list<Frame>;

}  // namespace sparsecoll
