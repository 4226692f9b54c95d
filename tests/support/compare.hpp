// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Compares bit by bit. Each function returns "" if the arguments are equal, and otherwise a line
// that describes the first difference.

#include <bit>
#include <cstdint>
#include <ios>
#include <limits>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "oracle/oracle.hpp"

namespace sparsecoll::test {

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;

template <class T>
BitsOf<T> bits(T value) {
  return std::bit_cast<BitsOf<T>>(value);
}

/// Returns a value with its bits: "-1.5 (0xbfc00000)".
template <class T>
std::string show(T value) {
  std::ostringstream out;
  out.precision(std::numeric_limits<T>::max_digits10);
  out << value << " (0x" << std::hex << bits(value) << ")";
  return out.str();
}

template <class T>
std::string difference(const std::string& what, const std::vector<T>& got,
                       const std::vector<T>& want) {
  std::ostringstream out;
  if (got.size() != want.size()) {
    out << what << ": " << got.size() << " values instead of " << want.size();
    return out.str();
  }
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (bits(got[i]) == bits(want[i])) continue;
    if (wrong++ == 0) {
      out << what << "[" << i << "] = " << show(got[i]) << " instead of " << show(want[i]);
    }
  }
  if (wrong != 0) out << "; " << wrong << " of " << got.size() << " differ";
  return out.str();
}

template <class T>
std::string difference(const std::string& what, const oracle::Sparse<T>& got,
                       const oracle::Sparse<T>& want) {
  std::ostringstream out;
  for (std::size_t i = 0; i < got.size() && i < want.size(); ++i) {
    if (got[i].index == want[i].index && bits(got[i].value) == bits(want[i].value)) continue;
    out << what << " entry " << i << " = " << got[i].index << ": " << show(got[i].value)
        << " instead of " << want[i].index << ": " << show(want[i].value) << "; ";
    break;
  }
  if (got.size() != want.size()) {
    out << what << ": " << got.size() << " entries instead of " << want.size();
  }
  return out.str();
}

}  // namespace sparsecoll::test
