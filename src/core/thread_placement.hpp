// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/hardware.hpp"

namespace sparsecoll {

/// Returns the CPUs on which the calling thread may run, in ascending order; none if the system
/// does not report them. Launchers and containers restrict them.
Cpus own_cpus();
/// Returns the number of these CPUs, at least 1.
size_t count_cpus();
/// Returns true if these are all CPUs of the system, so that this process is not bound.
bool has_all_cpus();

/// The number of ranks that use the same CPUs as this rank, and this rank's position among them.
struct CpuShare {
  size_t ranks = 1;
  size_t index = 0;  ///< less than `ranks`

  /// Returns whether there are more ranks than CPUs of the calling thread.
  bool is_crowded() const { return ranks > count_cpus(); }
  bool operator==(const CpuShare&) const = default;
};

/// Returns this rank's part of some CPUs: of n CPUs those from floor(n index / ranks) to floor(n
/// (index + 1) / ranks), by closeness, or one CPU if the part is empty. `hardware` may be null:
/// nothing is known of the machine then.
Cpus share_of(const Hardware* hardware, std::span<const size_t> cpus, const CpuShare& share);

/// Returns the CPUs to which the threads of a loop are bound, one after another, for a caller
/// that runs on the CPU `here`: those of the share, the caller's own first, then one for each
/// core. The other CPUs of `cpus` follow, for threads beyond the share. The caller itself is not
/// bound.
Cpus cpus_of_loop(const Hardware* hardware, std::span<const size_t> cpus,
                  std::span<const size_t> share, size_t here);

/// Returns the CPUs on which the thread of queued calls may run: those of `cpus` in the NUMA node
/// beside the device with this PCI address, or else in the NUMA nodes of the share. So the system
/// can still choose among several.
Cpus cpus_of_queue(const Hardware* hardware, std::span<const size_t> cpus,
                   std::span<const size_t> share, const std::string& pci_address);

/// Returns the NUMA nodes for the memory of a rank whose threads run on this share: those of the
/// share; none if the machine has only one, where there is no choice.
std::vector<int> nodes_of_memory(const Hardware& hardware, std::span<const size_t> share);

/// Binds the calling thread to these CPUs. Does nothing if there are none; if the system refuses,
/// the thread is only slower.
void bind_this_thread(std::span<const size_t> cpus) noexcept;

/// The placement of the threads of one rank on CPUs.
struct ThreadPlacement {
  CpuShare share;
  bool binds = true;  ///< false: threads may run on any CPU of the thread that starts them

  /// Returns this rank's share of the calling thread's CPUs. Loads the description of the machine.
  Cpus own_share() const;
  /// Returns the bytes of caches that this rank has for itself, if the ranks that share its CPUs
  /// share their caches evenly.
  size_t cache_bytes() const;
  /// Returns cpus_of_loop() for a loop of the calling thread; none if threads are not bound.
  Cpus for_loop() const;
  /// Returns cpus_of_queue() for a queue that the calling thread makes; none if threads are not
  /// bound, or if these are all of the thread's CPUs. `pci_address`: the address of the
  /// communicator's device; "": no device.
  Cpus for_queue(const std::string& pci_address) const;
};

}  // namespace sparsecoll
