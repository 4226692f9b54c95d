// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// sparsecollCommGetTopology().
#include <algorithm>
#include <cstring>

#include "api/bridge.hpp"

using namespace sparsecoll;

namespace {

const char* name_of(TopologySource source) {
  switch (source) {
    case TopologySource::machine:
      return "hwloc";
    case TopologySource::slurm:
      return "slurm";
    case TopologySource::file:
      return "file";
  }
  return "";
}

void fill_levels(const Topology& known, int rank, sparsecollTopology_t& out) {
  out.levels = known.levels();
  for (int level = 0; level < known.levels(); ++level) {
    out.group[level] = known.group_of(level, rank);
    out.groups[level] = known.groups(level);
    out.ranks[level] = static_cast<int>(known.ranks_of_group(level, out.group[level]).size());
  }
  std::strncpy(out.source, name_of(known.source()), sizeof out.source - 1);
}

}  // namespace

sparsecollResult_t sparsecollCommGetTopology(sparsecollComm_t comm,
                                             sparsecollTopology_t* topology) {
  return on_entered("sparsecollCommGetTopology", comm, [&](Communicator& c) {
    constexpr sparsecollTopology_t kInitial = SPARSECOLL_TOPOLOGY_INITIALIZER;
    if (!topology) fail(sparsecollInvalidArgument, "topology: expected a pointer, got NULL");
    if (topology->size < offsetof(sparsecollTopology_t, levels) ||
        topology->magic != kInitial.magic || topology->version == 0)
      fail(
          sparsecollInvalidArgument,
          "topology: expected a struct that starts from SPARSECOLL_TOPOLOGY_INITIALIZER, got size ",
          topology->size, ", magic ", topology->magic, ", version ", topology->version);
    sparsecollTopology_t out = kInitial;
    out.size = topology->size;
    out.version = topology->version;
    fill_levels(c.topology(), c.rank(), out);
    const Cpus cpus = own_cpus();
    if (const auto hardware = Hardware::here()) {
      const Place place = hardware->place_of(cpus);
      out.numaNode = place.numa_node;
      out.cores = place.cores;
    }
    out.threads = static_cast<int>(c.backends().threads());
    std::memcpy(topology, &out, std::min(topology->size, sizeof out));
    return sparsecollSuccess;
  });
}
