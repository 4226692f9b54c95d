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

/// A sparse vector in coordinate form: entries of a dense vector of count() values, ordered by
/// index. An entry has block_size() values, which is 1 unless it is a vector of blocks.
///
/// A blocking call that has it as output grows it as needed. With blocking = 0, and while a group
/// is open, the vector must be neither moved nor changed until the call is done.
template <class T, class Index = std::uint32_t>
class SparseVector {
 public:
  /// Makes an empty vector.
  /// @param count    dense length.
  /// @param capacity number of entries to allocate.
  explicit SparseVector(std::size_t count = 0, std::size_t capacity = 0)
      : indices_(capacity), values_(capacity) {
    record_.count = count;
    record_.blockSize = 1;
    record_.indexType = detail::index_type<Index>();
    record_.datatype = DatatypeOf<T>::value;
    point();
  }

  /// Returns an empty vector of blocks.
  /// @param block_size number of values of an entry, at least 1.
  /// @param count      dense length.
  /// @param capacity   number of entries to allocate.
  static SparseVector of_blocks(std::size_t block_size, std::size_t count,
                                std::size_t capacity = 0) {
    SparseVector vector(count);
    vector.record_.blockSize = block_size;
    vector.reserve(capacity);
    return vector;
  }

  /// Makes a vector of the given entries. Throws Error (sparsecollInvalidArgument) if the number of
  /// values is wrong.
  /// @param count      dense length.
  /// @param indices    strictly increasing, each below `count`; the verbs check that.
  /// @param values     block_size for each index.
  /// @param block_size number of values of an entry, at least 1.
  SparseVector(std::size_t count, std::vector<Index> indices, std::vector<T> values,
               std::size_t block_size = 1)
      : SparseVector(count) {
    record_.blockSize = block_size;
    if (indices.size() * block_size != values.size())
      throw Error(sparsecollInvalidArgument,
                  "values: expected " + std::to_string(indices.size() * block_size) + ", " +
                      (block_size == 1 ? "one" : std::to_string(block_size)) +
                      " for each index, got " + std::to_string(values.size()));
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
  /// Takes the entries of `other`, which becomes an empty vector of length 0.
  SparseVector(SparseVector&& other) noexcept : SparseVector() { swap(other); }
  /// Copies or moves the entries.
  SparseVector& operator=(SparseVector other) noexcept {
    swap(other);
    return *this;
  }
  ~SparseVector() = default;

  /// Exchanges two vectors.
  void swap(SparseVector& other) noexcept {
    std::swap(record_, other.record_);
    indices_.swap(other.indices_);
    values_.swap(other.values_);
  }

  /// Returns the dense length, in entries.
  std::size_t count() const noexcept { return record_.count; }
  /// Returns the number of values of an entry.
  std::size_t block_size() const noexcept { return record_.blockSize; }
  /// Returns the number of entries.
  std::size_t nnz() const noexcept { return record_.nnz; }
  /// Returns the number of entries that fit without an allocation.
  std::size_t capacity() const noexcept { return indices_.size(); }
  /// Returns the required capacity after Truncated; otherwise 0 or the value of an earlier call.
  std::size_t needed() const noexcept { return record_.needed; }
  /// Returns the indices of the entries.
  Span<const Index> indices() const noexcept { return {indices_.data(), nnz()}; }
  /// Returns the values of the entries, block after block.
  Span<const T> values() const noexcept { return {values_.data(), nnz() * block_size()}; }
  /// Returns the values of the entries, writable.
  Span<T> values() noexcept { return {values_.data(), nnz() * block_size()}; }

  /// Allocates room for `capacity` entries in all and keeps the entries. @param capacity a value
  /// below capacity() changes nothing.
  void reserve(std::size_t capacity) {
    if (capacity <= indices_.size()) return;
    values_.resize(capacity * block_size());
    point();  // now, because the next line may throw std::bad_alloc
    indices_.resize(capacity);
    point();
  }
  /// Appends an entry of one value. @param index above the index of every other entry.
  /// @param value any.
  void push_back(Index index, T value) { push_back(index, Span<const T>(&value, 1)); }
  /// Appends an entry. Throws Error (sparsecollInvalidArgument) if the number of values is wrong.
  /// @param index above the index of every other entry. @param block block_size() values.
  void push_back(Index index, Span<const T> block) {
    if (block.size() != block_size())
      throw Error(sparsecollInvalidArgument, "block: expected " + std::to_string(block_size()) +
                                                 " values, got " + std::to_string(block.size()));
    if (nnz() == capacity()) reserve(nnz() < 4 ? 8 : 2 * nnz());
    indices_[record_.nnz] = index;
    for (std::size_t i = 0; i < block.size(); ++i)
      values_[record_.nnz * block_size() + i] = block.data()[i];
    ++record_.nnz;
  }
  /// Removes the entries and keeps the capacity.
  void clear() noexcept { record_.nnz = 0; }

  /// Returns the struct of the C API, valid until the vector grows, is moved or is destroyed.
  sparsecollSparse_t* get() noexcept { return &record_; }
  /// Returns the struct of the C API, read-only.
  const sparsecollSparse_t* get() const noexcept { return &record_; }

 private:
  /// Sets the struct's pointers to the arrays.
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
