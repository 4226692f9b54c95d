// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "core/error.hpp"
#include "core/whole_number.hpp"

namespace sparsecoll {

/// Returns the value of an environment variable; none if it is not set. All of the library reads
/// its environment with this function.
std::optional<std::string> environment(const char* name);

/// A word to which a variable may be set, and its value.
struct Word {
  const char* name;
  int value;
};

/// Returns the value of the word that the variable is set to; `otherwise` if it is not set. Throws
/// InvalidArgument, which lists all words, if it is set to anything else.
int choose(const char* variable, std::span<const Word> words, int otherwise);

/// The valid range of a variable's number.
template <class T>
struct NumberRange {
  const char* unit;
  T least;
  T most;
};

/// Returns the variable's number; none if it is not set. Throws InvalidArgument with the range if
/// it is set to anything else.
template <class T = int>
std::optional<T> number(const char* variable, const NumberRange<std::type_identity_t<T>>& range) {
  const auto got = environment(variable);
  if (!got) return std::nullopt;
  const std::optional<T> value = whole_number<T>(*got);
  if (!value || *value < range.least || *value > range.most)
    fail(sparsecollInvalidArgument, variable, ": expected ", range.unit, ", ", range.least, " to ",
         range.most, "; got '", *got, "'");
  return value;
}

}  // namespace sparsecoll
