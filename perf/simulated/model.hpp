// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sparsecoll::perf {

/// A network, described by the parameters of LogGP (Alexandrov et al., LogGP: incorporating long
/// messages into the LogP model, SPAA 1995) and one link for each node. Times are in seconds.
///
/// The bytes of a message pass the sender's link, take the latency L to arrive, and pass the
/// receiver's link while they arrive. A link is full duplex. In each direction it carries one
/// message at a time, in the order in which they were sent.
struct NetworkModel {
  double rate = 1e9;         ///< rate of a link in bit/s: 8 / G
  double latency = 50e-6;    ///< L, from node to node
  double overhead = 1e-6;    ///< o: processor time of a message, at both ends
  double byte_overhead = 0;  ///< processor time of each byte, at both ends
  int ranks_per_node = 1;    ///< ranks that share a link
  double cores = 0;          ///< cores that all ranks share; 0: each rank has its own
  bool compute = true;       ///< whether processor time counts, scaled to `cores`
};

/// The latency, and the time for a byte, between ranks of one node, which share memory.
inline constexpr double kSharedLatency = 1e-6;
inline constexpr double kSharedByte = 1e-10;

}  // namespace sparsecoll::perf
