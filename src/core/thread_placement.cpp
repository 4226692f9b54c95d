// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/thread_placement.hpp"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>

namespace sparsecoll {

Cpus own_cpus() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  Cpus cpus;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return cpus;
  for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &mask)) cpus.push_back(cpu);
  return cpus;
}

size_t count_cpus() { return std::max<size_t>(own_cpus().size(), 1); }

bool has_all_cpus() {
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online < 1 || count_cpus() >= static_cast<size_t>(online);
}

Cpus share_of(const Hardware* hardware, std::span<const size_t> cpus, const CpuShare& share) {
  const Cpus ordered = hardware ? hardware->by_closeness(cpus) : Cpus(cpus.begin(), cpus.end());
  const size_t all = ordered.size();
  const size_t first = all * share.index / share.ranks;
  const size_t last = all * (share.index + 1) / share.ranks;
  const auto at = [&](size_t i) { return ordered.begin() + static_cast<std::ptrdiff_t>(i); };
  if (all == 0) return {};
  return first == last ? Cpus{ordered[first]} : Cpus(at(first), at(last));
}

Cpus cpus_of_loop(const Hardware* hardware, std::span<const size_t> cpus,
                  std::span<const size_t> share, size_t here) {
  Cpus chosen(share.begin(), share.end());
  // The caller occupies one CPU of the share, often the CPU on which it runs now.
  const auto callers = std::ranges::find(chosen, here);
  if (callers != chosen.end()) std::rotate(chosen.begin(), callers, chosen.end());
  if (hardware) chosen = hardware->one_per_core_first(chosen);
  for (const size_t cpu : cpus)
    if (std::ranges::find(share, cpu) == share.end()) chosen.push_back(cpu);
  return chosen;
}

Cpus cpus_of_queue(const Hardware* hardware, std::span<const size_t> cpus,
                   std::span<const size_t> share, const std::string& pci_address) {
  if (!hardware) return {cpus.begin(), cpus.end()};
  if (const auto beside = hardware->numa_node_of_device(pci_address)) {
    const Cpus near = hardware->cpus_near({&*beside, 1}, cpus);
    if (!near.empty()) return near;
  }
  const Cpus near = hardware->cpus_near(hardware->numa_nodes_of(share), cpus);
  return near.empty() ? Cpus(cpus.begin(), cpus.end()) : near;
}

std::vector<int> nodes_of_memory(const Hardware& hardware, std::span<const size_t> share) {
  return hardware.numa_nodes().size() < 2 ? std::vector<int>{} : hardware.numa_nodes_of(share);
}

void bind_this_thread(std::span<const size_t> cpus) noexcept {
  if (cpus.empty()) return;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const size_t cpu : cpus) CPU_SET(cpu, &mask);
  static_cast<void>(pthread_setaffinity_np(pthread_self(), sizeof mask, &mask));
}

Cpus ThreadPlacement::own_share() const {
  return share_of(Hardware::here().get(), own_cpus(), share);
}

size_t ThreadPlacement::cache_bytes() const {
  constexpr size_t kUsual = size_t{4} << 20;  // of a CPU, if nothing is known of the machine
  const auto hardware = Hardware::here();
  const Cpus cpus = own_cpus();
  const size_t known = hardware ? hardware->cache_bytes(cpus) : 0;
  return (known > 0 ? known : kUsual * count_cpus()) / share.ranks;
}

Cpus ThreadPlacement::for_loop() const {
  if (!binds) return {};
  const auto hardware = Hardware::here();
  const int here = sched_getcpu();
  const Cpus cpus = own_cpus();
  return cpus_of_loop(hardware.get(), cpus, share_of(hardware.get(), cpus, share),
                      here < 0 ? 0 : static_cast<size_t>(here));
}

Cpus ThreadPlacement::for_queue(const std::string& pci_address) const {
  if (!binds) return {};
  const auto hardware = pci_address.empty() ? Hardware::here() : Hardware::here_with_devices();
  const Cpus cpus = own_cpus();
  const Cpus chosen =
      cpus_of_queue(hardware.get(), cpus, share_of(hardware.get(), cpus, share), pci_address);
  return chosen.size() == cpus.size() ? Cpus{} : chosen;
}

}  // namespace sparsecoll
