// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/numa_memory.hpp"

#include <algorithm>
#include <cstdlib>

namespace sparsecoll {

void NumaMemory::find_nodes() {
  if (!placement_.binds) return;
  auto hardware = Hardware::here();
  if (!hardware) return;
  nodes_ = nodes_of_memory(*hardware, share_of(hardware.get(), own_cpus(), placement_.share));
  if (!nodes_.empty()) hardware_ = std::move(hardware);
}

void* NumaMemory::obtain(size_t bytes) {
  if (bytes >= kLargeBlock) std::call_once(asked_, [this] { find_nodes(); });
  if (bytes < kLargeBlock || !hardware_) return allocate_on_host(bytes);
  void* const at = allocate_on_host(bytes);
  if (at) hardware_->place_pages(at, bytes, nodes_);  // if this fails, access is only slower
  return at;
}

NodeBeside::NodeBeside(const std::string& pci_address) {
  if (pci_address.empty()) return;
  const auto here = Hardware::here();
  if (!here || here->numa_nodes().size() < 2) return;
  auto hardware = Hardware::here_with_devices();
  if (!hardware) return;
  const auto node = hardware->numa_node_of_device(pci_address);
  if (!node) return;
  node_ = *node;
  hardware_ = std::move(hardware);
}

void NodeBeside::run(FunctionRef<void()> body) const {
  if (hardware_)
    hardware_->run_near(node_, body);
  else
    body();
}

}  // namespace sparsecoll
