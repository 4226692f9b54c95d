// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "api/config.hpp"
#include "api/residual.hpp"
#include "core/deadline.hpp"
#include "core/function_ref.hpp"

namespace sparsecoll {

class Link;
class Topology;

// Decides for which calls and residuals of a communicator Sharded is used. This depends on the
// configuration, the nodes and the tensor, which all ranks know before a call.

/// Returns whether calls of this communicator may use Sharded. If so, the ranks must know at init
/// which of them share a node.
bool may_shard(const Config& config);

/// Prepares the ranks of a node to add their gradients by NCCL, if calls may use Sharded and sums
/// may be reordered. Collective.
void join_node(Link& link, const Config& config, const Topology& topology,
               const Deadline& deadline);

/// Returns whether sparseAllreduce of such a tensor in dense form uses Sharded: because it is
/// configured, or because Auto may take it and finds that it pays.
bool shards(const Communicator& communicator, size_t count, DataType type);

/// Returns the part of such a tensor that its residual holds.
ResidualExtent residual_extent(const Communicator& communicator, size_t count, DataType type);

/// Throws InvalidArgument for a residual of Sharded that is passed to another algorithm, and for
/// another residual that is passed to Sharded.
void check_rule(const Residual* residual, bool sharded);

/// Returns the first rank whose region does not lie in its shard, if any. `region_of` returns the
/// region of a rank in a vector of `count` values.
std::optional<int> rank_outside_its_shard(const Communicator& communicator, size_t count,
                                          FunctionRef<Region(int rank)> region_of);

}  // namespace sparsecoll
