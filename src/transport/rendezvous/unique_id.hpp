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
  /// Returns "10.0.0.1:1234" or "[fd00::1]:1234".
  std::string name() const;
  /// Returns the IPv4 address at which it has come, or the IPv6 address, with this port.
  static SocketAddress make(int family, const void* address, uint16_t port);
};

using Secret = std::array<uint64_t, 2>;

/// What a sparsecollUniqueId says.
struct UniqueId {
  SocketAddress server;
  Secret secret{};  ///< of one communicator
};

/// Returns the bytes of an id, with a checksum.
sparsecollUniqueId encode(const UniqueId& id);
/// Throws InvalidArgument if the bytes are no id.
UniqueId decode(const sparsecollUniqueId& bytes);

}  // namespace sparsecoll
