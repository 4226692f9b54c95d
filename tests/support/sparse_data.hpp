// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sparsecoll/sparsecoll.h>

#include <cstdint>
#include <vector>

#include "oracle/half.hpp"
#include "oracle/oracle.hpp"

namespace sparsecoll::test {

/// Test data in coordinate form.
enum class SparseKind {
  kRandom,         ///< integers, another nnz on every rank, supports that overlap
  kHeavyTail,      ///< fractions of very different magnitude
  kEmptyOnSome,    ///< no entries on every second rank
  kEmpty,          ///< no entries anywhere
  kExplicitZeros,  ///< mostly +0 and -0
  kCancelling,     ///< ranks 2j and 2j + 1 cancel exactly
  kDisjoint,       ///< no index on two ranks
  kIdentical,      ///< the same entries on every rank
  kNotFinite,      ///< NaN and infinities on every rank
  kDenormals,      ///< negative denormals that an average rounds to -0
  kFull            ///< every index that a vector of up to 2000 has
};

inline constexpr SparseKind kAllSparseKinds[] = {
    SparseKind::kRandom,    SparseKind::kHeavyTail,     SparseKind::kEmptyOnSome,
    SparseKind::kEmpty,     SparseKind::kExplicitZeros, SparseKind::kCancelling,
    SparseKind::kDisjoint,  SparseKind::kIdentical,     SparseKind::kNotFinite,
    SparseKind::kDenormals, SparseKind::kFull};

const char* name_of(SparseKind kind);

/// With blocks, `count` is their number. The entries are those of all their values, with indices up
/// to count * block, so that the definitions of scalars apply.
template <class T>
oracle::PerRank<oracle::Sparse<T>> make_sparse_of_all(SparseKind kind, std::uint64_t count, int P,
                                                      std::uint64_t seed, std::size_t block = 1);

/// A sparsecollSparse_t with its arrays. They begin with garbage, so that values that a call wrote
/// can be distinguished. With blocks, the capacity is in blocks, and entries() are those of their
/// values.
template <class T>
class SparseBuffer {
 public:
  /// Creates an empty vector with room for `capacity` entries.
  SparseBuffer(std::uint64_t count, int index_type, std::size_t capacity, std::size_t block = 1);
  /// Creates a vector that holds exactly `entries`.
  SparseBuffer(std::uint64_t count, int index_type, const oracle::Sparse<T>& entries,
               std::size_t block = 1);
  SparseBuffer(SparseBuffer&&) noexcept = default;
  SparseBuffer(const SparseBuffer&) = delete;
  SparseBuffer& operator=(const SparseBuffer&) = delete;

  sparsecollSparse_t* get() { return &sparse_; }
  const sparsecollSparse_t* get() const { return &sparse_; }

  /// Returns the first nnz entries.
  oracle::Sparse<T> entries() const;

  /// Returns all memory that a call could write, for a comparison before and after.
  std::vector<std::uint64_t> image() const;

 private:
  std::uint64_t index_at(std::size_t at) const;
  std::size_t block_size() const { return sparse_.blockSize > 1 ? sparse_.blockSize : 1; }

  std::vector<std::uint32_t> narrow_;
  std::vector<std::uint64_t> wide_;
  std::vector<T> values_;
  sparsecollSparse_t sparse_ = SPARSECOLL_SPARSE_INITIALIZER;
};

extern template class SparseBuffer<float>;
extern template class SparseBuffer<double>;
extern template class SparseBuffer<oracle::Float16>;
extern template class SparseBuffer<oracle::Bfloat16>;
extern template class SparseBuffer<std::int32_t>;
extern template class SparseBuffer<std::int64_t>;
}  // namespace sparsecoll::test
