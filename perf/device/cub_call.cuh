// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/backend.hpp"

namespace sparsecoll::perf::device {

/// Calls an algorithm of CUB twice: the first call returns the size of the workspace in bytes, the
/// second one runs with a workspace of this size.
template <class Call>
void call_cub(cuda::Backend& backend, const Call& call) {
  const Arena::Scope scope(backend.arena());
  size_t bytes = 0;
  cuda::check(call(nullptr, bytes), "a size from CUB");
  cuda::check(call(backend.arena().take<std::byte>(bytes), bytes), "an algorithm of CUB");
}

}  // namespace sparsecoll::perf::device
