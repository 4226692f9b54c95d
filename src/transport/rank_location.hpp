// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/thread_placement.hpp"

namespace sparsecoll {

/// The location of a process, which it sends to the other ranks. Its bytes are sent as they are.
struct RankLocation {
  uint64_t machine = 0;  ///< machine_number()
  uint64_t node = 0;     ///< node_number()
  /// The CPUs on which it may run, a bit for each. CPUs from number 1024 on are left out.
  std::array<uint64_t, 16> cpus{};

  /// Returns the location of this process.
  static RankLocation here();
};

/// Returns how many ranks share the CPUs of rank `rank`: those on its machine that may run on one
/// of its CPUs. The index is the position of `rank` among them.
CpuShare share_cpus(std::span<const RankLocation> ranks, size_t rank);

}  // namespace sparsecoll
