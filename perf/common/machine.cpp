// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/machine.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
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

/// As Linux names it; "" where it does not say.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

/// Processors of the system, not of this process: mpirun may have bound it to one of them.
int cores() { return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)); }

/// Rising ranks as "0-3" or "0,2,5-7".
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
  const std::string mine = host_name();
  std::vector<std::pair<std::string, std::vector<int>>> by_host;
  int rank = 0;
  for (const auto& name : ranks.gather(std::span<const char>(mine.data(), mine.size()))) {
    const std::string host(name.begin(), name.end());
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

std::string library_version() {
  int version = 0;
  require(sparsecollGetVersion(&version), nullptr, "sparsecollGetVersion");
  return std::to_string(version / 10000) + '.' + std::to_string(version / 100 % 100) + '.' +
         std::to_string(version % 100);
}

}  // namespace sparsecoll::perf
