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

/// The dense vectors of all ranks. Any rank can read any other's, in pieces, without a message.
template <class T>
class Vectors {
 public:
  virtual ~Vectors() = default;
  /// n.
  virtual std::size_t count() const = 0;
  /// Integer-valued and small enough that any sum over ranks is exact in any order.
  virtual bool exact() const = 0;
  /// Entries [first, first + out.size()) of the vector of `rank`.
  virtual void fill(int rank, std::size_t first, std::span<T> out) const = 0;
};

/// A hash of x with well mixed bits.
std::uint64_t mix(std::uint64_t x);

/// Heavy-tailed integers: |x| = 4 u^(-3/4), u uniform, so that few entries carry most of the mass
/// as in gradients, with many ties. A fraction `overlap` of the entries has one u for all ranks, so
/// that this fraction of the largest is common whatever k is; their signs mostly agree.
template <class T>
std::unique_ptr<Vectors<T>> generated_vectors(std::size_t n, int ranks, const Options& options);

/// Raw little-endian float32 from the file `name`, in which %r stands for the rank. Throws when a
/// file cannot be read, is empty, or holds a value that is not finite.
template <class T>
std::unique_ptr<Vectors<T>> vectors_of_file(const std::string& name, int rank);

}  // namespace sparsecoll::perf
