// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Host kernels of one pair of types with memory of their own, and conversions between vectors for
// tests and spans for kernels.

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

/// Whether backends use the vector instructions of this machine instead of the plain loops.
/// SPARSECOLL_TEST_BACKEND or a test sets it.
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
  /// Without a level, it uses the plain loops.
  explicit Backend(std::optional<host::Simd> level) : level_(level) {}

  Arena& arena() { return arena_; }
  Kernels& kernels() { return kernels_; }
  /// Makes kernels write even short vectors past the caches. Not for plain loops.
  void write_past_caches() { backend_->tuning().stream_bytes = 1; }

  /// Returns a copy of the entries as a kernel's input.
  SparseSpan put(const Entries<T>& entries) {
    const SparseBuffer buffer = kernels_.sparse(entries.size());
    for (size_t j = 0; j < entries.size(); ++j) {
      static_cast<I*>(buffer.index)[j] = static_cast<I>(entries[j].index);
      static_cast<T*>(buffer.value)[j] = entries[j].value;
    }
    *buffer.nnz = entries.size();
    return buffer.span();
  }

  /// Returns a dense vector, which has no indices, as a kernel's input.
  SparseSpan put_dense(const std::vector<T>& values) {
    T* at = arena_.take<T>(values.size());
    std::copy(values.begin(), values.end(), at);
    uint64_t* nnz = kernels_.counts(1);
    *nnz = values.size();
    return {nullptr, at, {values.size(), nnz}};
  }

  /// Returns the entries of a kernel's output with values of type V, the tensor's type if the
  /// output is a result.
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
