// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Headers of received messages: one launch gathers them, one copy takes them to the host.

#include <bit>
#include <iterator>

#include "kernels/cuda/launch.cuh"
#include "kernels/kernels.hpp"
#include "kernels/wire.hpp"

namespace sparsecoll::cuda {

/// A message header as the 8-byte words that kernels load and store.
struct HeaderWords {
  uint64_t word[sizeof(WireHeader) / sizeof(uint64_t)];
};

struct GatherHeaders {
  const HeaderWords* const* messages;  ///< null: the message is too short for a header
  HeaderWords* headers;
  __device__ void operator()(size_t p) const {
    headers[p] = messages[p] ? *messages[p] : HeaderWords{};
  }
};

/// Reads how many entries each message has; see Kernels::entries(). The messages are on the device.
inline void entries(Backend& backend, std::span<const Message> messages, const Kernels& kernels,
                    size_t* out) {
  const Arena::Scope scope(backend.arena());
  const size_t n = messages.size();
  const HeaderWords* const* const all = upload_array<const HeaderWords*>(backend, n, [&](size_t p) {
    return messages[p].bytes.size() < sizeof(WireHeader)
               ? nullptr
               : reinterpret_cast<const HeaderWords*>(messages[p].bytes.data());
  });
  HeaderWords* const gathered = backend.arena().take<HeaderWords>(n);
  for_each(backend, {nullptr, n}, GatherHeaders{all, gathered});
  std::vector<HeaderWords> headers(n);
  backend.read(gathered->word, n * std::size(HeaderWords{}.word), headers.data()->word);
  for (size_t p = 0; p < n; ++p) {
    const auto header = std::bit_cast<WireHeader>(headers[p]);
    const Message& message = messages[p];
    const bool sound =
        wire_sound(header, message.bytes.size(), kernels.data_type(), kernels.format_of(message));
    out[p] = sound ? header.nnz : 0;
  }
}

}  // namespace sparsecoll::cuda
