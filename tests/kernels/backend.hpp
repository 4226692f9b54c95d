// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Host kernels of one pair of types with memory of their own, and the way between vectors that
// tests can read and the spans that kernels see.

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

#include "core/numeric.hpp"
#include "kernels/host/backend.hpp"
#include "kernels/kernels.hpp"
#include "oracle/oracle.hpp"

namespace sparsecoll::unit {

template <class T>
using Entries = oracle::Sparse<T>;

template <class T>
inline constexpr DataType kOwnType = sizeof(T) == 4 ? DataType::float32 : DataType::float64;

/// Whether places take the loops that this machine is best at, instead of the plain ones: where
/// SPARSECOLL_TEST_BACKEND is set, or a test says so.
inline bool& best_loops() {
  static bool best = std::getenv("SPARSECOLL_TEST_BACKEND") != nullptr;
  return best;
}

/// T is the accumulation type of kType.
template <class T, class I, DataType kType = kOwnType<T>>
class Backend {
 public:
  static constexpr DataType kData = kType;
  static constexpr IndexType kIndex = sizeof(I) == 4 ? IndexType::index32 : IndexType::index64;

  Backend() : Backend(best_loops() ? std::optional(host::best_simd()) : std::nullopt) {}
  /// Without a level: the plain loops.
  explicit Backend(std::optional<host::Simd> level) : level_(level) {}

  Arena& arena() { return arena_; }
  Kernels& kernels() { return kernels_; }

  /// A copy of the entries as a kernel's input.
  SparseSpan put(const Entries<T>& entries) {
    const SparseBuffer buffer = kernels_.sparse(entries.size());
    for (size_t j = 0; j < entries.size(); ++j) {
      static_cast<I*>(buffer.index)[j] = static_cast<I>(entries[j].index);
      static_cast<T*>(buffer.value)[j] = entries[j].value;
    }
    *buffer.nnz = entries.size();
    return buffer.span();
  }

  /// A dense vector as a kernel's input: no indices.
  SparseSpan put_dense(const std::vector<T>& values) {
    T* at = arena_.take<T>(values.size());
    std::copy(values.begin(), values.end(), at);
    uint64_t* nnz = kernels_.counts(1);
    *nnz = values.size();
    return {nullptr, at, {values.size(), nnz}};
  }

  /// Values of V: what the accumulation became, where it left the library.
  template <class V = T>
  Entries<V> get(const SparseBuffer& buffer) const {
    Entries<V> entries;
    for (size_t j = 0; j < *buffer.nnz; ++j)
      entries.push_back(
          {static_cast<const I*>(buffer.index)[j], static_cast<const V*>(buffer.value)[j]});
    return entries;
  }

 private:
  Kernels& make() {
    if (!level_) return make_plain_kernels(kData, kIndex, arena_);
    return make_host_kernels(kData, kIndex, backend_.emplace(arena_, *level_));
  }

  const std::optional<host::Simd> level_;
  Memory memory_;
  Arena arena_{memory_};
  const Arena::Scope scope_{arena_};
  std::optional<host::Backend> backend_;
  Kernels& kernels_ = make();
};

}  // namespace sparsecoll::unit
