// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <sstream>
#include <string>
#include <utility>

#include "sparsecoll/sparsecoll.h"

namespace sparsecoll {

/// The one exception type of the library: a result code and what to tell the user.
class Error : public std::exception {
 public:
  Error(sparsecollResult_t code, std::string message) : code_(code), message_(std::move(message)) {}
  sparsecollResult_t code() const noexcept { return code_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  sparsecollResult_t code_;
  std::string message_;
};

/// The parts written one after another.
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

/// True for errors after which ranks may disagree about what happened.
constexpr bool fatal(sparsecollResult_t code) {
  return code != sparsecollSuccess && code != sparsecollInvalidArgument &&
         code != sparsecollInvalidUsage && code != sparsecollTruncated;
}

}  // namespace sparsecoll
