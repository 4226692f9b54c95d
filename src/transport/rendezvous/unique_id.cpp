// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/rendezvous/unique_id.hpp"

#include <arpa/inet.h>

#include <cstring>
#include <span>

#include "core/checksum.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {

constexpr uint32_t kMagic = 0x44495553;  // "SUID"

/// The bytes of an id.
struct IdBytes {
  uint32_t magic;
  uint16_t family;  ///< 4 or 6
  uint16_t port;
  std::array<std::byte, 16> address;
  Secret secret;
  std::array<std::byte, 80> reserved;
  uint64_t checksum;  ///< checksum of the fields before it
};
static_assert(sizeof(IdBytes) == SPARSECOLL_UNIQUE_ID_BYTES);

uint64_t checksum_of(const IdBytes& id) {
  return checksum(std::as_bytes(std::span(&id, 1)).first(sizeof id - sizeof id.checksum));
}

}  // namespace

SocketAddress SocketAddress::make(int family, const void* address, uint16_t port) {
  SocketAddress made;
  if (family == AF_INET) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(made.storage);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&v4.sin_addr, address, sizeof v4.sin_addr);
    made.length = sizeof v4;
  } else {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(made.storage);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&v6.sin6_addr, address, sizeof v6.sin6_addr);
    made.length = sizeof v6;
  }
  return made;
}

std::string SocketAddress::name() const {
  char name[INET6_ADDRSTRLEN] = "";
  if (storage.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(storage);
    inet_ntop(AF_INET, &v4.sin_addr, name, sizeof name);
    return text(name, ":", ntohs(v4.sin_port));
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(storage);
  inet_ntop(AF_INET6, &v6.sin6_addr, name, sizeof name);
  return text("[", name, "]:", ntohs(v6.sin6_port));
}

sparsecollUniqueId encode(const UniqueId& id) {
  IdBytes bytes{};
  bytes.magic = kMagic;
  bytes.secret = id.secret;
  if (id.server.storage.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(id.server.storage);
    bytes.family = 4;
    bytes.port = ntohs(v4.sin_port);
    std::memcpy(bytes.address.data(), &v4.sin_addr, sizeof v4.sin_addr);
  } else {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(id.server.storage);
    bytes.family = 6;
    bytes.port = ntohs(v6.sin6_port);
    std::memcpy(bytes.address.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
  }
  bytes.checksum = checksum_of(bytes);
  sparsecollUniqueId encoded;
  std::memcpy(encoded.internal, &bytes, sizeof bytes);
  return encoded;
}

UniqueId decode(const sparsecollUniqueId& encoded) {
  IdBytes bytes;
  std::memcpy(&bytes, encoded.internal, sizeof bytes);
  if (bytes.magic != kMagic || bytes.checksum != checksum_of(bytes) ||
      (bytes.family != 4 && bytes.family != 6))
    fail(sparsecollInvalidArgument,
         "id: expected the bytes that sparsecollGetUniqueId returned, got others");
  return {
      SocketAddress::make(bytes.family == 4 ? AF_INET : AF_INET6, bytes.address.data(), bytes.port),
      bytes.secret};
}

}  // namespace sparsecoll
