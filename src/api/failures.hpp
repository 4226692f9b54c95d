// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace sparsecoll {

/// The error of a call. It refers to texts of others.
struct CallError {
  const char* operation;
  sparsecollResult_t code;
  const char* why;
};

/// A failed call, or several joined into one.
struct Failure {
  uint64_t first;
  uint64_t last;
  std::string operation;  ///< the operation of the first call
  Error error;            ///< the error of the joined calls
};

/// Failures of calls, by number.
class Failures {
 public:
  /// The largest number of failures that are kept. To make room, the newest two of consecutive
  /// calls are joined. If no two calls are consecutive, the last two failures are joined, and cover
  /// the calls between them.
  static constexpr size_t kKept = 1024;

  Failures() { all_.reserve(1); }  // so that a failure is kept even when memory is short

  /// Adds the failure of a call. The text is lost if there is no memory for it.
  void add(uint64_t number, const CallError& error) noexcept;
  /// Removes and returns the first failure among the calls up to `number`. Joined failures are
  /// removed together, up to `number`. A fatal failure also removes the later ones up to `number`,
  /// which follow from it.
  std::optional<Failure> take(uint64_t number);
  /// Returns the failure of this call; null if there is none. Valid until the next change.
  const Failure* find(uint64_t number) const;

 private:
  /// Makes room for one more failure.
  void join_two() noexcept;

  std::vector<Failure> all_;  ///< by number
};

}  // namespace sparsecoll
