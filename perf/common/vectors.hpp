// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "common/options.hpp"

namespace sparsecoll::perf {

/// The dense vectors of all ranks. Any rank can read any part of any vector, without a message.
template <class T>
class Vectors {
 public:
  virtual ~Vectors() = default;
  /// Returns the length n.
  virtual std::size_t count() const = 0;
  /// Returns true if the values are integers so small that their sums over ranks are exact in any
  /// order.
  virtual bool exact() const = 0;
  /// Fills `out` with the values [first, first + out.size()) of the vector of `rank`.
  virtual void fill(int rank, std::size_t first, std::span<T> out) const = 0;
};

/// Returns a hash of x with well mixed bits.
std::uint64_t mix(std::uint64_t x);

/// Generates heavy-tailed integers: |x| = 4 u^(-3/4) with u uniform. Few entries carry most of the
/// mass, as in gradients, and there are many ties. A fraction `overlap` of the entries has the same
/// u on all ranks. Hence, for every k, this fraction of the largest entries is common; their signs
/// mostly agree.
template <class T>
std::unique_ptr<Vectors<T>> generated_vectors(std::size_t n, int ranks, const Options& options);

/// Reads raw little-endian float32 values from the file `name`, in which %r stands for the rank.
/// Throws std::runtime_error if a file cannot be read, is empty, or contains a value that is not
/// finite.
template <class T>
std::unique_ptr<Vectors<T>> vectors_of_file(const std::string& name, int rank);

}  // namespace sparsecoll::perf
