// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace sparsecoll {

/// Reads the whole text as a number. Returns nothing if the text has other characters, or if the
/// number does not fit into T.
template <class T>
std::optional<T> whole_number(std::string_view text) {
  T value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

}  // namespace sparsecoll
