// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// A build without hwloc: the parts of no machine are known. No object of Hardware exists, so that
// the members are never called.
#include "core/hardware.hpp"

namespace sparsecoll {

struct Hardware::Topology {};

Hardware::Hardware(std::unique_ptr<Topology> topology) : topology_(std::move(topology)) {}
Hardware::~Hardware() = default;

std::unique_ptr<const Hardware> Hardware::load(const std::string&, bool) { return nullptr; }
std::unique_ptr<const Hardware> Hardware::here() { return nullptr; }
std::unique_ptr<const Hardware> Hardware::here_with_devices() { return nullptr; }
std::unique_ptr<const Hardware> Hardware::from_xml(const std::string& file) {
  return load(file, true);
}

Cpus Hardware::cpus() const { return {}; }
Place Hardware::place_of(std::span<const size_t>) const { return {}; }
Cpus Hardware::by_closeness(std::span<const size_t> cpus) const {
  return {cpus.begin(), cpus.end()};
}
Cpus Hardware::one_per_core_first(std::span<const size_t> cpus) const {
  return {cpus.begin(), cpus.end()};
}
size_t Hardware::cache_bytes(std::span<const size_t>) const { return 0; }
std::vector<int> Hardware::numa_nodes() const { return {}; }
std::vector<int> Hardware::numa_nodes_of(std::span<const size_t>) const { return {}; }
Cpus Hardware::cpus_near(std::span<const int>, std::span<const size_t>) const { return {}; }
std::optional<int> Hardware::numa_node_of_device(const std::string&) const { return {}; }
bool Hardware::place_pages(void*, size_t, std::span<const int>) const { return false; }
void Hardware::run_near(int, FunctionRef<void()> body) const { body(); }

}  // namespace sparsecoll
