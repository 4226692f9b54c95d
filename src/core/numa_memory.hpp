// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "core/memory.hpp"
#include "core/thread_placement.hpp"

namespace sparsecoll {

/// The host's memory for a rank. On a machine with several NUMA nodes the pages of large blocks are
/// taken from those of the rank's share of the CPUs: on one node the threads of a loop are beside
/// their memory, on several it is interleaved, because each thread works on any part of a vector.
/// Pages of the heap that were touched before stay where they are.
class NumaMemory final : public Memory {
 public:
  static constexpr size_t kLargeBlock = size_t{1} << 20;

  explicit NumaMemory(const ThreadPlacement& placement) : placement_(placement) {}

 private:
  void* obtain(size_t bytes) override;
  void find_nodes();

  const ThreadPlacement placement_;
  std::once_flag asked_;
  // The first large block sets these members and asked_. Null: pages may be on any NUMA node.
  std::unique_ptr<const Hardware> hardware_;
  std::vector<int> nodes_;
};

/// The NUMA node to which a device is attached.
class NodeBeside {
 public:
  /// Looks the node up. This takes some milliseconds on a machine with several NUMA nodes.
  explicit NodeBeside(const std::string& pci_address);
  /// Runs body(). The pages that it touches first are taken from this node, if it is known.
  void run(FunctionRef<void()> body) const;

 private:
  std::unique_ptr<const Hardware> hardware_;  ///< null: the node is unknown, or the only one
  int node_ = 0;
};

}  // namespace sparsecoll
