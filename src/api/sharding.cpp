// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/sharding.hpp"

#include "api/communicator.hpp"
#include "calls/stream/stream_link.hpp"
#include "collectives/network/shards.hpp"
#include "collectives/registry.hpp"
#include "core/error.hpp"

namespace sparsecoll {

bool may_shard(const Config& config) {
  const sparsecollConfig_t& values = config.values;
  return values.algorithm == sparsecollAlgoSharded ||
         (values.algorithm == sparsecollAlgoAuto && values.allowSharded &&
          values.selection == sparsecollSelectExact);
}

void join_node(Link& link, const Config& config, const Topology& topology,
               const Deadline& deadline) {
  StreamLink* const stream = link_as<StreamLink>(link);
  if (!stream || !may_shard(config) || !config.values.allowReordered) return;
  if (topology.nodes() == topology.ranks()) return;  // every rank is alone on its node
  stream->join_node(topology.node_of(link.rank()), deadline);
}

bool shards(const Communicator& communicator, size_t count, DataType type) {
  const Config& config = communicator.config();
  if (!may_shard(config)) return false;
  if (config.values.algorithm == sparsecollAlgoSharded) return true;
  const int wire = config.values.wire;
  const size_t value_size = wire == sparsecollWireInt8   ? 1
                            : wire == sparsecollWireBf16 ? 2
                                                         : size_of(type);
  return pays_to_shard(*communicator.network_model().topology, count, value_size);
}

ResidualExtent residual_extent(const Communicator& communicator, size_t count, DataType type) {
  if (!shards(communicator, count, type)) return {count, {0, count}};
  const Shards cut(*communicator.network_model().topology, count);
  return {count, cut.region_of(communicator.rank()), true};
}

void check_rule(const Residual* residual, bool sharded) {
  if (!residual || residual->sharded() == sharded) return;
  const char* const whole = "one that holds all values of its tensor";
  const char* const part = "one that holds a shard (sparsecollAlgoSharded)";
  fail(sparsecollInvalidArgument, "residual: expected ", sharded ? part : whole, ", got ",
       sharded ? whole : part);
}

std::optional<int> rank_outside_its_shard(const Communicator& communicator, size_t count,
                                          FunctionRef<Region(int rank)> region_of) {
  const Shards cut(*communicator.network_model().topology, count);
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const Region region = region_of(rank), shard = cut.region_of(rank);
    const bool inside = region.begin >= shard.begin && region.end <= shard.end;
    if (region.length() > 0 && !inside) return rank;
  }
  return {};
}

}  // namespace sparsecoll
