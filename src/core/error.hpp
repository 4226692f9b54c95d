// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <sstream>
#include <string>
#include <utility>

#include "sparsecoll/sparsecoll.h"

namespace sparsecoll {

/// The only exception type of the library: a result code and a message for the user.
class Error : public std::exception {
 public:
  Error(sparsecollResult_t code, std::string message) : code_(code), message_(std::move(message)) {}
  sparsecollResult_t code() const noexcept { return code_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  sparsecollResult_t code_;
  std::string message_;
};

/// Returns the parts as one string.
template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

template <class... Parts>
[[noreturn]] void fail(sparsecollResult_t code, const Parts&... parts) {
  throw Error(code, text(parts...));
}

/// Returns whether ranks may disagree after this error about what has happened.
constexpr bool fatal(sparsecollResult_t code) {
  return code != sparsecollSuccess && code != sparsecollInvalidArgument &&
         code != sparsecollInvalidUsage && code != sparsecollTruncated;
}

}  // namespace sparsecoll
