// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "transport/rendezvous/unique_id.hpp"

namespace sparsecoll {

/// A network interface with one of its addresses. The port is 0.
struct Interface {
  std::string name;
  SocketAddress address;
  bool loopback = false;
};

/// Returns the interfaces that are up, one for each address; none with link-local addresses.
std::vector<Interface> interfaces_of_system();

/// Returns the address at which other machines reach this process. `wanted` is the value of
/// SPARSECOLL_SOCKET_IFNAME, "" if it is not set: prefixes of names separated by commas; with ^ in
/// front, prefixes to avoid; with = in front, whole names. If it is "", the loopback interface and
/// those of containers are taken last. IPv4 is preferred to IPv6. Throws InvalidArgument if nothing
/// matches `wanted`, and SystemError if there is no interface.
SocketAddress choose_address(const std::vector<Interface>& interfaces, const std::string& wanted);

}  // namespace sparsecoll
