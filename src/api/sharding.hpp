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

// Decides which calls and residuals of a communicator are Sharded's, from the configuration, the
// nodes and the tensor. All ranks know these alike before there is a call.

/// Returns whether calls of this communicator may be Sharded's, so that its ranks must know at init
/// which of them share a node.
bool may_shard(const Config& config);

/// Lets the ranks of a node add their gradients by NCCL, if calls may be Sharded's and sums may be
/// reordered. Collective.
void join_node(Link& link, const Config& config, const Topology& topology,
               const Deadline& deadline);

/// Returns whether the sparseAllreduce of such a tensor in dense form is Sharded's: it is
/// configured, or Auto may take it and finds that it pays.
bool shards(const Communicator& communicator, size_t count, DataType type);

/// Returns what a residual for such a tensor holds.
ResidualExtent residual_extent(const Communicator& communicator, size_t count, DataType type);

/// Throws InvalidArgument for a residual of Sharded that is passed to another algorithm, and for
/// another residual that is passed to Sharded.
void check_rule(const Residual* residual, bool sharded);

/// Returns the first rank whose region does not lie in its shard, if any. `region_of` returns the
/// region of a rank in a vector of `count` values.
std::optional<int> rank_outside_its_shard(const Communicator& communicator, size_t count,
                                          FunctionRef<Region(int rank)> region_of);

}  // namespace sparsecoll
