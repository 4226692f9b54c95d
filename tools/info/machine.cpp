// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// The machine: CPUs, the tree of hwloc, groups of nodes, GPUs, network interfaces.
#include "core/machine.hpp"

#include <fstream>
#include <map>
#include <tuple>

#include "api/topology_tree.hpp"
#include "core/environment.hpp"
#include "core/error.hpp"
#include "core/thread_placement.hpp"
#include "kernels/device.hpp"
#include "report.hpp"
#include "transport/rendezvous/interfaces.hpp"

namespace sparsecoll::info {

namespace {

Json known(int number) { return number < 0 ? Json() : Json(number); }

/// Returns what the library says of the place of a communicator of one rank; none if it makes none.
std::optional<sparsecollTopology_t> place_of_one_rank() {
  sparsecollComm_t comm = nullptr;
  sparsecollTopology_t place = SPARSECOLL_TOPOLOGY_INITIALIZER;
  if (sparsecollCommInitAll(&comm, 1, nullptr, nullptr) != sparsecollSuccess) return std::nullopt;
  const bool told = sparsecollCommGetTopology(comm, &place) == sparsecollSuccess;
  sparsecollCommDestroy(comm);
  return told ? std::optional(place) : std::nullopt;
}

/// Returns the name of an address without its port.
std::string host_part(const SocketAddress& address) {
  const std::string name = address.name();
  return name.substr(0, name.rfind(':'));
}

/// Returns the model of a GPU, as its driver writes it into /proc; none if it does not.
Json model_of(const std::string& pci_address) {
  std::ifstream lines("/proc/driver/nvidia/gpus/" + pci_address + "/information");
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("Model:")) return line.substr(line.find_first_not_of(" \t", 6));
  return {};
}

}  // namespace

std::string list_of(const Cpus& cpus) {
  std::string list;
  for (size_t at = 0; at < cpus.size();) {
    size_t last = at;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    list += text(list.empty() ? "" : ",", cpus[at]);
    if (last > at) list += text('-', cpus[last]);
    at = last + 1;
  }
  return list;
}

Json processors(const Config& config, bool valid) {
  const Cpus cpus = own_cpus();
  Json result{{"cpus", list_of(cpus)},
              {"count", cpus.size()},
              {"bound", !has_all_cpus()},
              {"threadsAreBound", config.binds}};
  const auto place = valid ? place_of_one_rank() : std::nullopt;
  result["threads"] = place ? Json(place->threads) : Json();
  result["cores"] = place ? known(place->cores) : Json();
  result["numaNode"] = place ? known(place->numaNode) : Json();
  return result;
}

Json machine() {
  Json result{{"host", host_name()}, {"parts", Json::array()}};
  const auto hardware = Hardware::here();
  if (!hardware) {
    result["problem"] = "nothing is known of this machine: no hwloc, or it fails";
    return result;
  }
  std::map<std::tuple<int, int, int>, Cpus> parts;
  for (const size_t cpu : hardware->cpus()) {
    const Place place = hardware->place_of(std::span(&cpu, 1));
    parts[{place.package, place.numa_node, place.l3}].push_back(cpu);
  }
  for (const auto& [place, cpus] : parts) {
    const auto& [package, numa_node, l3] = place;
    result["parts"].push_back({{"package", known(package)},
                               {"numaNode", known(numa_node)},
                               {"l3", known(l3)},
                               {"cpus", list_of(cpus)},
                               {"cores", known(hardware->place_of(cpus).cores)}});
  }
  return result;
}

Json topology(const Config& config) {
  Json result{{"source", "hwloc"}, {"levels", Json::array()}};
  if (config.tree) {
    result["source"] = "file";
    result["file"] = environment("SPARSECOLL_TOPOLOGY").value_or("");
    for (const TopologyTree::Summary& level : config.tree->summary()) {
      const auto& [rate, latency] = level.link;
      result["levels"].push_back({{"name", level.name},
                                  {"groups", level.groups},
                                  {"bitsPerSecond", rate ? Json(*rate * 8) : Json()},
                                  {"latencySeconds", latency ? Json(*latency) : Json()}});
    }
  } else if (!config.slurm_address.empty()) {
    result["source"] = "slurm";
    result["address"] = config.slurm_address;
    result["pattern"] = config.slurm_pattern;
  }
  return result;
}

Json devices() {
  Json all = Json::array();
  try {
    const int count = count_devices();
    const auto hardware = count > 0 ? Hardware::here_with_devices() : nullptr;
    for (int device = 0; device < count; ++device) {
      const std::string address = pci_address(device);
      const auto node = hardware ? hardware->numa_node_of_device(address) : std::nullopt;
      all.push_back({{"number", device},
                     {"model", model_of(address)},
                     {"pciAddress", address},
                     {"numaNode", node ? Json(*node) : Json()}});
    }
  } catch (const Error& error) {
    all.push_back(Json::object({{"problem", error.what()}}));
  }
  return all;
}

Json interfaces() {
  Json result{{"all", Json::array()}};
  try {
    const std::vector<Interface> up = interfaces_of_system();
    for (const Interface& each : up)
      result["all"].push_back({{"name", each.name}, {"address", host_part(each.address)}});
    result["chosen"] =
        host_part(choose_address(up, environment("SPARSECOLL_SOCKET_IFNAME").value_or("")));
  } catch (const Error& error) {
    result["problem"] = error.what();
  }
  return result;
}

}  // namespace sparsecoll::info
