// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace sparsecoll {

/// Returns the name of this host; empty if the system does not report it.
std::string host_name();

/// Returns a number that identifies the machine on which this process runs. It is computed from the
/// time of the machine's start, or from the host's name if the system does not report that time.
/// Containers of one machine have the same number, whatever their names.
uint64_t machine_number();

/// Returns a number that identifies the node on which this process runs. Processes of one machine
/// are on one node if they share its network: the network namespace is part of the number. So
/// containers with a network of their own are nodes of their own, and those with the machine's
/// network are not.
uint64_t node_number();

}  // namespace sparsecoll
