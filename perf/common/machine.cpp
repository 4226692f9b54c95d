// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/machine.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace sparsecoll::perf {
namespace {

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return name;
}

/// Returns the name of each rank's host. Collective.
std::vector<std::string> gather_host_names(Ranks& ranks) {
  const std::string mine = host_name();
  std::vector<std::string> names;
  for (const auto& name : ranks.gather(std::span<const char>(mine.data(), mine.size()))) {
    names.emplace_back(name.begin(), name.end());
  }
  return names;
}

/// Returns the model name of the processor from /proc/cpuinfo, or "" if it has none.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

/// Returns the number of processors of the system. Those of the process may be fewer, because
/// mpirun may have bound it to one.
int cores() { return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)); }

/// Formats increasing ranks as "0-3" or "0,2,5-7".
std::string ranges(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(ranks[i]);
    if (last > i) text += '-' + std::to_string(ranks[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace

Machine describe_machine(Ranks& ranks) {
  std::vector<std::pair<std::string, std::vector<int>>> by_host;
  int rank = 0;
  for (const std::string& host : gather_host_names(ranks)) {
    auto found = std::ranges::find(by_host, host, &decltype(by_host)::value_type::first);
    if (found == by_host.end()) found = by_host.insert(found, {host, {}});
    found->second.push_back(rank++);
  }
  Machine machine;
  machine.host = by_host.front().first;
  machine.kind = processor();
  machine.cores = cores();
  machine.hosts = static_cast<int>(by_host.size());
  for (const auto& [host, on_it] : by_host) {
    if (!machine.placement.empty()) machine.placement += ", ";
    machine.placement += host + " (ranks " + ranges(on_it) + ')';
  }
  return machine;
}

Machine describe_machine(Ranks& ranks, const Storage& storage) {
  Machine machine = describe_machine(ranks);
  if (storage.gpu().empty()) return machine;
  const std::vector<std::string> hosts = gather_host_names(ranks);
  const std::vector<int> numbers = ranks.gather_value(storage.gpu_number());
  std::set<std::pair<std::string, int>> gpus;
  for (std::size_t r = 0; r < hosts.size(); ++r) gpus.emplace(hosts[r], numbers[r]);
  const std::string mine = storage.gpu();
  const std::vector<char> first = ranks.gather(std::span<const char>(mine))[0];
  machine.gpu.assign(first.begin(), first.end());
  machine.gpus = static_cast<int>(gpus.size());
  return machine;
}

std::string memory_of(const Machine& machine) {
  if (machine.gpus == 0) return "host memory";
  return "memory of " + std::to_string(machine.gpus) + (machine.gpus == 1 ? " GPU: " : " GPUs: ") +
         machine.gpu;
}

int rank_on_host(Ranks& ranks) {
  const std::vector<std::string> hosts = gather_host_names(ranks);
  const auto mine = hosts.begin() + ranks.rank();
  return static_cast<int>(std::count(hosts.begin(), mine, *mine));
}

std::string library_version() {
  int version = 0;
  require(sparsecollGetVersion(&version), nullptr, "sparsecollGetVersion");
  return std::to_string(version / 10000) + '.' + std::to_string(version / 100 % 100) + '.' +
         std::to_string(version % 100);
}

}  // namespace sparsecoll::perf
