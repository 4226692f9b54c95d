// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#ifndef SPARSECOLL_CXX_SPARSE_VECTOR_HPP_
#define SPARSECOLL_CXX_SPARSE_VECTOR_HPP_

/// @file
/// @brief A sparse vector that owns its entries. Included by sparsecoll.hpp.

#include <sparsecoll/cxx/error.hpp>
#include <sparsecoll/cxx/types.hpp>
#include <utility>
#include <vector>

namespace sparsecoll {
inline namespace cxx {

/// A sparse vector in coordinate form: entries of a dense vector of count() values, by rising
/// index.
///
/// As an output it grows by itself: calls that return when they are done make the room that is
/// missing. With blocking = 0 and while a group is open it must stay where it is, neither moved nor
/// changed, until the call is done.
template <class T, class Index = std::uint32_t>
class SparseVector {
 public:
  /// @param count    dense length.
  /// @param capacity entries to make room for.
  explicit SparseVector(std::size_t count = 0, std::size_t capacity = 0)
      : indices_(capacity), values_(capacity) {
    record_.count = count;
    record_.indexType = detail::index_type<Index>();
    record_.datatype = DatatypeOf<T>::value;
    point();
  }

  /// Takes entries over.
  /// @param count   dense length.
  /// @param indices strictly rising, each below `count`; the verbs check that.
  /// @param values  as many.
  /// Throws Error (sparsecollInvalidArgument) when there are not as many.
  SparseVector(std::size_t count, std::vector<Index> indices, std::vector<T> values)
      : SparseVector(count) {
    if (indices.size() != values.size())
      throw Error(sparsecollInvalidArgument, "values: expected " + std::to_string(indices.size()) +
                                                 ", one for each index, got " +
                                                 std::to_string(values.size()));
    indices_ = std::move(indices);
    values_ = std::move(values);
    record_.nnz = indices_.size();
    point();
  }

  /// Copies the entries.
  SparseVector(const SparseVector& other)
      : record_(other.record_), indices_(other.indices_), values_(other.values_) {
    point();
  }
  /// Leaves an empty vector of length 0.
  SparseVector(SparseVector&& other) noexcept : SparseVector() { swap(other); }
  /// Copies or moves the entries.
  SparseVector& operator=(SparseVector other) noexcept {
    swap(other);
    return *this;
  }
  ~SparseVector() = default;

  /// Exchanges everything.
  void swap(SparseVector& other) noexcept {
    std::swap(record_, other.record_);
    indices_.swap(other.indices_);
    values_.swap(other.values_);
  }

  /// Dense length.
  std::size_t count() const noexcept { return record_.count; }
  /// Entries in use.
  std::size_t nnz() const noexcept { return record_.nnz; }
  /// Entries that there is room for.
  std::size_t capacity() const noexcept { return indices_.size(); }
  /// After Truncated: the capacity that would do; else 0, or that of an earlier call.
  std::size_t needed() const noexcept { return record_.needed; }
  /// The indices in use.
  Span<const Index> indices() const noexcept { return {indices_.data(), nnz()}; }
  /// The values in use.
  Span<const T> values() const noexcept { return {values_.data(), nnz()}; }
  /// The values in use, to be changed.
  Span<T> values() noexcept { return {values_.data(), nnz()}; }

  /// Makes room; keeps the entries. @param capacity entries in all; a smaller one changes nothing.
  void reserve(std::size_t capacity) {
    if (capacity <= indices_.size()) return;
    values_.resize(capacity);
    point();  // in case that there is no memory for the other
    indices_.resize(capacity);
    point();
  }
  /// Adds an entry behind the others. @param index above those that are there. @param value any.
  void push_back(Index index, T value) {
    if (nnz() == capacity()) reserve(nnz() < 4 ? 8 : 2 * nnz());
    indices_[record_.nnz] = index;
    values_[record_.nnz] = value;
    ++record_.nnz;
  }
  /// Forgets the entries, keeps the room.
  void clear() noexcept { record_.nnz = 0; }

  /// The struct of the C API, good until the vector grows, moves or ends.
  sparsecollSparse_t* get() noexcept { return &record_; }
  /// The same to read from.
  const sparsecollSparse_t* get() const noexcept { return &record_; }

 private:
  /// The struct says where the arrays are.
  void point() noexcept {
    record_.indices = indices_.data();
    record_.values = values_.data();
    record_.capacity = indices_.size();
  }

  sparsecollSparse_t record_ = SPARSECOLL_SPARSE_INITIALIZER;
  std::vector<Index> indices_;
  std::vector<T> values_;
};

}  // namespace cxx
}  // namespace sparsecoll

#endif  // SPARSECOLL_CXX_SPARSE_VECTOR_HPP_
