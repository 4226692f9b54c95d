// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/types.hpp"
#include "transport/rendezvous/unique_id.hpp"

// The messages between the clients and the server of a rendezvous, over TCP. A client sends a
// greeting, and then a frame for each allgather. The server answers each with a frame that has the
// bytes of all ranks, or with a failure. Numbers are sent as they are: all ranks have the same byte
// order, or else `magic` differs.

namespace sparsecoll::rendezvous {

inline constexpr uint64_t kMagic = 0x31767a6e65726373;  // "screndz1"
inline constexpr uint32_t kNoTimeout = ~uint32_t{0};
/// The bytes of the longest frame that a client may send.
inline constexpr size_t kMostBytes = size_t{1} << 20;

struct Greeting {
  uint64_t magic;
  Secret secret;
  uint32_t version;  ///< SPARSECOLL_VERSION
  uint32_t rank;
  uint32_t ranks;
  uint32_t timeout_ms;  ///< how long the client waits from now on
};

enum class FrameKind : uint32_t {
  data = 1,
  failure = 2  ///< the payload is a text
};

struct FrameHead {
  uint32_t kind;
  uint32_t code;  ///< the sparsecollResult_t of a failure
  uint64_t bytes;
};

/// A head and its payload. Many connections may be sending the same one.
using Frame = std::shared_ptr<const std::vector<std::byte>>;

inline Frame make_frame(FrameKind kind, uint32_t code, ConstBytes payload) {
  const FrameHead head{static_cast<uint32_t>(kind), code, payload.size()};
  auto frame = std::make_shared<std::vector<std::byte>>(sizeof head + payload.size());
  std::memcpy(frame->data(), &head, sizeof head);
  if (!payload.empty()) std::memcpy(frame->data() + sizeof head, payload.data(), payload.size());
  return frame;
}

inline ConstBytes bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace sparsecoll::rendezvous
