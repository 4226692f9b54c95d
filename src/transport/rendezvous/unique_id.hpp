// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netinet/in.h>

#include <array>
#include <cstdint>
#include <string>

#include "sparsecoll/sparsecoll.h"

namespace sparsecoll {

/// The address of a server, IPv4 or IPv6.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  const sockaddr* at() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* at() { return reinterpret_cast<sockaddr*>(&storage); }
  /// Returns the address as text: "10.0.0.1:1234" or "[fd00::1]:1234".
  std::string name() const;
  /// Makes an address from a family (AF_INET or AF_INET6), its bytes in network order, and a port.
  static SocketAddress make(int family, const void* address, uint16_t port);
};

using Secret = std::array<uint64_t, 2>;

/// The contents of a sparsecollUniqueId.
struct UniqueId {
  SocketAddress server;
  Secret secret{};  ///< identifies one communicator
};

/// Returns the bytes of an id, with a checksum.
sparsecollUniqueId encode(const UniqueId& id);
/// Throws InvalidArgument if the bytes are no id.
UniqueId decode(const sparsecollUniqueId& bytes);

}  // namespace sparsecoll
