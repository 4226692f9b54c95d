// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A state file for tests, and how it is refused.

#include <string>

#include "core/state_file.hpp"

namespace sparsecoll::unit {

inline ConstBytes bytes_of(const std::string& string) {
  return std::as_bytes(std::span(string.data(), string.size()));
}

template <class Bytes>
std::string string_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Writes a file with three sections: a number, a text, and an empty one.
inline void write_example(const std::string& path, uint64_t number, const std::string& words) {
  const StateSection sections[] = {
      state_value("number", number), {"words", bytes_of(words)}, {"nothing", {}}};
  write_state_file(path, "example", sections);
}

/// Reads the file. Returns "" if this fails with the given code and a message that contains
/// `words`.
inline std::string refusal(const std::string& path, sparsecollResult_t code,
                           const std::string& words) {
  Memory memory;
  try {
    const StateFile file(path, "example", memory);
    return "it was read";
  } catch (const Error& error) {
    if (error.code() != code) return text("error ", error.code(), ": ", error.what());
    const std::string what = error.what();
    return what.find(words) == std::string::npos ? what : "";
  }
}

}  // namespace sparsecoll::unit
