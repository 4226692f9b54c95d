// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/environment.hpp"

namespace sparsecoll {

/// The number that the word `auto` means.
inline constexpr int kAutoWord = -1;
/// The most threads of a rank that SPARSECOLL_THREADS can ask for.
inline constexpr int kMostThreads = 1024;

/// An environment variable of the library. It takes one of some words, a number, or else a text.
struct Variable {
  const char* name;
  const char* meaning;               ///< in half a line
  std::span<const Word> words = {};  ///< empty: a number or a text
  NumberRange<uint64_t> range = {};  ///< no unit: a text
  const char* text = "";             ///< what a text is, or what a special number means
  const char* otherwise;             ///< what applies if it is not set
  const char* overrides = "";        ///< the field of sparsecollConfig_t
  bool agreed = false;               ///< all ranks must have the same

  bool is_number() const { return range.unit != nullptr; }
};

/// Returns all variables of the library, in the order of docs/environment.md. An init parses the
/// variables by this table, sparsecoll-info prints it, and a check compares the page with it.
std::span<const Variable> variables();
/// Returns the variable of this name.
const Variable& variable(std::string_view name);
/// Returns the values that a variable may have, in words.
std::string values_of(const Variable& variable);

/// Returns the value of the word that a variable of the table is set to; `otherwise` if it is not
/// set. Throws InvalidArgument if it is set to no word of its own.
int chosen_word(const char* name, int otherwise);
/// Returns true for "1", false for "0", none for "auto" and if the variable is not set, likewise.
std::optional<bool> chosen_switch(const char* name);
/// Returns the number that a variable of the table is set to; none if it is not set. Throws
/// InvalidArgument if it is set to anything out of its range.
template <class T = int>
std::optional<T> chosen_number(const char* name) {
  const NumberRange<uint64_t>& range = variable(name).range;
  return number<T>(name, {range.unit, static_cast<T>(range.least), static_cast<T>(range.most)});
}

}  // namespace sparsecoll
