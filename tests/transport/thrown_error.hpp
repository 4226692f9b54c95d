// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/error.hpp"

namespace sparsecoll::unit {

/// The Error that a function has thrown, or success and "".
struct ThrownError {
  sparsecollResult_t code = sparsecollSuccess;
  std::string message;
};

template <class Function>
ThrownError error_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {};
}

/// Returns "" if the error has that code and `part` is in its message, otherwise a description.
inline std::string mismatch(const ThrownError& error, sparsecollResult_t code,
                            const std::string& part) {
  if (error.code == code && error.message.find(part) != std::string::npos) return "";
  return text("expected ", code, " with '", part, "', got ", error.code, " ", error.message);
}

}  // namespace sparsecoll::unit
