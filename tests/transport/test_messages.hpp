// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Messages for tests of transports, whose bytes identify their sender and number.

#include <algorithm>
#include <vector>

#include "core/error.hpp"
#include "support/data.hpp"
#include "transport/transport.hpp"

namespace sparsecoll::unit {

/// Returns the message with that number of a sender.
inline std::vector<std::byte> test_message(size_t size, int sender, uint64_t number) {
  std::vector<std::byte> bytes(size);
  uint64_t word = 0;
  for (size_t i = 0; i < size; ++i) {
    if (i % 8 == 0) word = test::noise(static_cast<uint64_t>(sender), number, i);
    bytes[i] = static_cast<std::byte>(word >> i % 8 * 8);
  }
  return bytes;
}

inline bool same(const Buffer& got, const std::vector<std::byte>& want) {
  return std::equal(got.data(), got.data() + got.size(), want.begin(), want.end());
}

/// Returns a size that varies with the number: 0, small, and sometimes large.
inline size_t test_message_size(uint64_t number) {
  const size_t sizes[] = {0, 1, 100, 63, 64, 65, 3000, 8, number % 70 == 7 ? size_t{300000} : 17};
  return sizes[number % 9];
}

}  // namespace sparsecoll::unit
