// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/function_ref.hpp"

namespace sparsecoll {

/// CPUs (hardware threads) by the operating system's numbers.
using Cpus = std::vector<size_t>;

/// The place of some CPUs on their machine. A member is -1 if it is unknown, or if the CPUs are in
/// several packages, nodes or caches.
struct Place {
  int package = -1;    ///< index of the package (socket)
  int numa_node = -1;  ///< number of the NUMA node, the operating system's
  int l3 = -1;         ///< index of the cache of level 3
  int cores = -1;      ///< number of cores that have one of the CPUs

  bool operator==(const Place&) const = default;
};

/// The parts of a machine: packages, NUMA nodes, caches, cores and devices, as hwloc finds them. In
/// a build without hwloc nothing is known.
class Hardware {
 public:
  /// Returns this machine, without devices; null if hwloc fails or is not built in. Takes some
  /// milliseconds.
  static std::unique_ptr<const Hardware> here();
  /// Returns this machine with its PCI devices; null in the same cases.
  static std::unique_ptr<const Hardware> here_with_devices();
  /// Returns the machine that an XML file of hwloc describes; null if it cannot be read.
  static std::unique_ptr<const Hardware> from_xml(const std::string& file);
  ~Hardware();
  Hardware(const Hardware&) = delete;
  Hardware& operator=(const Hardware&) = delete;

  /// Returns all CPUs that a process may use.
  Cpus cpus() const;
  Place place_of(std::span<const size_t> cpus) const;
  /// Returns the same CPUs in an order in which neighbours share as much as possible: first the
  /// CPUs of one core, then those of one cache, of one NUMA node, of one package.
  Cpus by_closeness(std::span<const size_t> cpus) const;
  /// Returns these CPUs, reordered: first one CPU for each core, then the others.
  Cpus one_per_core_first(std::span<const size_t> cpus) const;
  /// Returns the bytes of the largest caches that these CPUs share with others, each CPU's part of
  /// them: of a cache of 32 MiB for 8 CPUs, 4 MiB for each.
  size_t cache_bytes(std::span<const size_t> cpus) const;
  /// Returns the numbers of all NUMA nodes.
  std::vector<int> numa_nodes() const;
  /// Returns the numbers of the NUMA nodes that are local to these CPUs.
  std::vector<int> numa_nodes_of(std::span<const size_t> cpus) const;
  /// Returns the CPUs of the list to which one of the NUMA nodes is local.
  Cpus cpus_near(std::span<const int> numa_nodes, std::span<const size_t> cpus) const;
  /// Returns the number of the NUMA node beside the device with this address on the PCI bus, such
  /// as "0000:3b:00.0"; none if there is no such device, or if it is beside several NUMA nodes.
  std::optional<int> numa_node_of_device(const std::string& pci_address) const;

  /// Asks the system to take the pages of this memory that were not touched yet from these NUMA
  /// nodes, in turn if there are several, or from others if these are full. Only for this machine.
  /// Returns false if the system refuses.
  bool place_pages(void* at, size_t bytes, std::span<const int> numa_nodes) const;
  /// Runs body(). The pages that the calling thread touches first in it are taken from this NUMA
  /// node, if the system allows it. Only for this machine.
  void run_near(int numa_node, FunctionRef<void()> body) const;

 private:
  struct Topology;
  explicit Hardware(std::unique_ptr<Topology> topology);
  static std::unique_ptr<const Hardware> load(const std::string& file, bool with_devices);

  const std::unique_ptr<Topology> topology_;
};

}  // namespace sparsecoll
