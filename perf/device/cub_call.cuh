// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/backend.hpp"

namespace sparsecoll::perf::device {

/// Calls an algorithm of CUB twice, as they want it: the first call says how many bytes of room the
/// second one needs.
template <class Call>
void call_cub(cuda::Backend& backend, const Call& call) {
  const Arena::Scope scope(backend.arena());
  size_t bytes = 0;
  cuda::check(call(nullptr, bytes), "a size from CUB");
  cuda::check(call(backend.arena().take<std::byte>(bytes), bytes), "an algorithm of CUB");
}

}  // namespace sparsecoll::perf::device
