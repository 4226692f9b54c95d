// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What received messages say of themselves: one launch that gathers their headers, and a copy.

#include <array>
#include <bit>

#include "kernels/cuda/merge/table.cuh"
#include "kernels/kernels.hpp"
#include "kernels/wire.hpp"

namespace sparsecoll::cuda {

using HeaderWords = std::array<uint64_t, sizeof(WireHeader) / sizeof(uint64_t)>;

struct GatherHeaders {
  const HeaderWords* const* messages;  ///< null: too short for one
  HeaderWords* headers;
  __device__ void operator()(size_t p) const {
    headers[p] = messages[p] ? *messages[p] : HeaderWords{};
  }
};

/// As Kernels::entries(), for messages on the device.
inline void entries(Backend& backend, std::span<const Message> messages, DataType type,
                    size_t* out) {
  const Arena::Scope scope(backend.arena());
  const size_t n = messages.size();
  const HeaderWords* const* const all = table<const HeaderWords*>(backend, n, [&](size_t p) {
    return messages[p].bytes.size() < sizeof(WireHeader)
               ? nullptr
               : reinterpret_cast<const HeaderWords*>(messages[p].bytes.data());
  });
  HeaderWords* const gathered = backend.arena().take<HeaderWords>(n);
  for_each(backend, {nullptr, n}, GatherHeaders{all, gathered});
  std::vector<HeaderWords> headers(n);
  backend.read(gathered->data(), n * HeaderWords{}.size(), headers.data()->data());
  for (size_t p = 0; p < n; ++p) {
    const auto header = std::bit_cast<WireHeader>(headers[p]);
    const Message& message = messages[p];
    out[p] =
        wire_sound(header, message.bytes.size(), type, message.region.length()) ? header.nnz : 0;
  }
}

}  // namespace sparsecoll::cuda
