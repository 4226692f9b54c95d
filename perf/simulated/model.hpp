// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sparsecoll::perf {

/// A network by the parameters of LogGP (Alexandrov et al., LogGP: incorporating long messages into
/// the LogP model, SPAA 1995) and one link for each node, in seconds. Bytes of a message pass the
/// sender's link, wait for L, and pass the receiver's link while they arrive; each link is full
/// duplex and carries one message at a time each way, in the order in which they were sent.
struct NetworkModel {
  double rate = 1e9;         ///< of a link, bit/s: 8 / G
  double latency = 50e-6;    ///< L
  double overhead = 1e-6;    ///< o: of a processor for each message, at both ends
  double byte_overhead = 0;  ///< and for each byte
  int ranks_per_node = 1;    ///< which share its link
  double cores = 0;          ///< that all ranks share between them; 0: each has its own
  bool compute = true;       ///< what ranks compute takes as long as it took here, else nothing
};

/// Between ranks of one node: shared memory.
inline constexpr double kSharedLatency = 1e-6;
inline constexpr double kSharedByte = 1e-10;

}  // namespace sparsecoll::perf
