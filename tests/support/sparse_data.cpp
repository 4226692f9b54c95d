// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "support/sparse_data.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <type_traits>

#include "support/compare.hpp"
#include "support/data.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

constexpr std::uint64_t kRubbish = 0xabadcafeu;

/// Returns indices of one rank. Half of them are from a pool that all ranks share, and both ends of
/// the range are among them.
std::vector<std::uint64_t> draw_indices(std::uint64_t count, std::uint64_t rank,
                                        std::uint64_t seed) {
  std::vector<std::uint64_t> indices;
  if (count == 0) return indices;
  const std::uint64_t entries = 1 + noise(seed, rank, 7) % 120;
  for (std::uint64_t j = 0; j < entries; ++j) {
    const std::uint64_t source = j % 2 == 0 ? 1u << 16 : rank;
    indices.push_back(noise(seed, source, j) % count);
  }
  if (noise(seed, rank, 8) % 2 == 0) indices.push_back(count - 1);
  if (noise(seed, rank, 9) % 2 == 0) indices.push_back(0);
  const std::uint64_t edge = std::uint64_t{1} << 32;
  if (count > edge) indices.insert(indices.end(), {edge - 1, edge, edge + rank});
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  return indices;
}

int integer(std::uint64_t h, int limit) {
  return static_cast<int>(h % (2 * static_cast<std::uint64_t>(limit) + 1)) - limit;
}

template <class T>
T wide_value_of(SparseKind kind, std::uint64_t rank, std::uint64_t index, std::uint64_t seed) {
  using Limits = std::numeric_limits<T>;
  const std::uint64_t h = noise(seed, rank, index);
  switch (kind) {
    case SparseKind::kHeavyTail: {
      const T u = static_cast<T>((h >> 41) + 1) / static_cast<T>(1 << 23);
      return ((h & 1) != 0 ? T{-1} : T{1}) / (u * u);
    }
    case SparseKind::kExplicitZeros:
      if (h % 5 == 0) return static_cast<T>(integer(h >> 8, 3));
      return (h & 256) != 0 ? T{0} : -T{0};
    case SparseKind::kCancelling: {
      const int value = integer(noise(seed, rank / 2, index), 500);
      return static_cast<T>(rank % 2 == 0 ? value : -value);
    }
    case SparseKind::kIdentical:
      return static_cast<T>(integer(noise(seed, 1u << 17, index), 500));
    case SparseKind::kNotFinite:
      if (h % 6 == 0) return Limits::infinity();
      if (h % 6 == 1) return -Limits::infinity();
      if (h % 6 == 2) return -Limits::quiet_NaN();
      return static_cast<T>(integer(h >> 8, 500));
    case SparseKind::kDenormals:
      return static_cast<T>(integer(h, 2) - 1) * Limits::denorm_min();
    case SparseKind::kRandom:
    case SparseKind::kEmptyOnSome:
    case SparseKind::kEmpty:
    case SparseKind::kDisjoint:
    case SparseKind::kFull:
      break;
  }
  return static_cast<T>(integer(h, 500));
}

template <class T>
T value_of(SparseKind kind, std::uint64_t rank, std::uint64_t index, std::uint64_t seed) {
  if constexpr (oracle::kIsHalf<T>) {
    if (kind == SparseKind::kDenormals) {
      const int places = integer(noise(seed, rank, index), 2) - 1;
      return T(static_cast<float>(places) *
               static_cast<float>(std::numeric_limits<T>::denorm_min()));
    }
    return T(wide_value_of<float>(kind, rank, index, seed));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(noise(seed, rank, index));
  } else {
    return wide_value_of<T>(kind, rank, index, seed);
  }
}

template <class T>
oracle::Sparse<T> make_sparse(SparseKind kind, std::uint64_t count, std::uint64_t rank,
                              std::uint64_t P, std::uint64_t seed, std::size_t block) {
  oracle::Sparse<T> entries;
  if (kind == SparseKind::kEmpty) return entries;
  if (kind == SparseKind::kEmptyOnSome && (rank + seed) % 2 == 0) return entries;
  std::vector<std::uint64_t> indices;
  if (kind == SparseKind::kFull) {
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(count, 2000); ++i) indices.push_back(i);
  } else {
    const bool same = kind == SparseKind::kIdentical || kind == SparseKind::kCancelling;
    indices = draw_indices(count, same ? 0 : rank, seed);
  }
  for (const std::uint64_t index : indices) {
    if (kind == SparseKind::kDisjoint && index % P != rank) continue;
    for (std::uint64_t at = index * block; at < (index + 1) * block; ++at) {
      entries.push_back({at, value_of<T>(kind, rank, at, seed)});
    }
  }
  return entries;
}

}  // namespace

const char* name_of(SparseKind kind) {
  switch (kind) {
    case SparseKind::kRandom:
      return "random";
    case SparseKind::kHeavyTail:
      return "heavy tail";
    case SparseKind::kEmptyOnSome:
      return "empty on some ranks";
    case SparseKind::kEmpty:
      return "empty";
    case SparseKind::kExplicitZeros:
      return "explicit zeros";
    case SparseKind::kCancelling:
      return "cancelling";
    case SparseKind::kDisjoint:
      return "disjoint";
    case SparseKind::kIdentical:
      return "identical";
    case SparseKind::kNotFinite:
      return "not finite";
    case SparseKind::kDenormals:
      return "denormals";
    case SparseKind::kFull:
      return "full";
  }
  return "?";
}

template <class T>
oracle::PerRank<oracle::Sparse<T>> make_sparse_of_all(SparseKind kind, std::uint64_t count, int P,
                                                      std::uint64_t seed, std::size_t block) {
  oracle::PerRank<oracle::Sparse<T>> all;
  for (int rank = 0; rank < P; ++rank) {
    all.push_back(make_sparse<T>(kind, count, static_cast<std::uint64_t>(rank),
                                 static_cast<std::uint64_t>(P), seed, block));
  }
  return all;
}

template <class T>
SparseBuffer<T>::SparseBuffer(std::uint64_t count, int index_type, std::size_t capacity,
                              std::size_t block)
    : narrow_(index_type == sparsecollIndex32 ? capacity : 0, static_cast<std::uint32_t>(kRubbish)),
      wide_(index_type == sparsecollIndex32 ? 0 : capacity, kRubbish << 8),
      values_(capacity * block, static_cast<T>(-77)) {
  sparse_.count = count;
  sparse_.capacity = capacity;
  sparse_.indexType = index_type;
  if (block > 1) sparse_.blockSize = block;
  sparse_.datatype = kDatatype<T>;
  sparse_.values = values_.data();
  sparse_.indices = narrow_.data();
  if (index_type != sparsecollIndex32) sparse_.indices = wide_.data();
}

template <class T>
SparseBuffer<T>::SparseBuffer(std::uint64_t count, int index_type, const oracle::Sparse<T>& entries,
                              std::size_t block)
    : SparseBuffer(count, index_type, entries.size() / block, block) {
  sparse_.nnz = entries.size() / block;
  for (std::size_t at = 0; at < entries.size(); ++at) {
    values_[at] = entries[at].value;
    if (index_type == sparsecollIndex32) {
      narrow_[at / block] = static_cast<std::uint32_t>(entries[at].index / block);
    } else {
      wide_[at / block] = entries[at].index / block;
    }
  }
}

template <class T>
oracle::Sparse<T> SparseBuffer<T>::entries() const {
  const std::size_t block = block_size();
  oracle::Sparse<T> entries;
  for (std::size_t at = 0; at < std::min(sparse_.nnz * block, values_.size()); ++at) {
    entries.push_back({index_at(at / block) * block + at % block, values_[at]});
  }
  return entries;
}

template <class T>
std::vector<std::uint64_t> SparseBuffer<T>::image() const {
  std::vector<std::uint64_t> image{sparse_.count, sparse_.nnz, sparse_.capacity, sparse_.needed};
  for (std::size_t at = 0; at < values_.size(); ++at) {
    image.push_back(index_at(at / block_size()));
    image.push_back(bits(values_[at]));
  }
  return image;
}

template <class T>
std::uint64_t SparseBuffer<T>::index_at(std::size_t at) const {
  return narrow_.empty() ? wide_[at] : narrow_[at];
}

template class SparseBuffer<float>;
template class SparseBuffer<double>;
template class SparseBuffer<oracle::Float16>;
template class SparseBuffer<oracle::Bfloat16>;
template class SparseBuffer<std::int32_t>;
template class SparseBuffer<std::int64_t>;
template oracle::PerRank<oracle::Sparse<float>> make_sparse_of_all(SparseKind, std::uint64_t, int,
                                                                   std::uint64_t, std::size_t);
template oracle::PerRank<oracle::Sparse<double>> make_sparse_of_all(SparseKind, std::uint64_t, int,
                                                                    std::uint64_t, std::size_t);
template oracle::PerRank<oracle::Sparse<oracle::Float16>> make_sparse_of_all(SparseKind,
                                                                             std::uint64_t, int,
                                                                             std::uint64_t,
                                                                             std::size_t);
template oracle::PerRank<oracle::Sparse<oracle::Bfloat16>> make_sparse_of_all(SparseKind,
                                                                              std::uint64_t, int,
                                                                              std::uint64_t,
                                                                              std::size_t);
template oracle::PerRank<oracle::Sparse<std::int32_t>> make_sparse_of_all(SparseKind, std::uint64_t,
                                                                          int, std::uint64_t,
                                                                          std::size_t);
template oracle::PerRank<oracle::Sparse<std::int64_t>> make_sparse_of_all(SparseKind, std::uint64_t,
                                                                          int, std::uint64_t,
                                                                          std::size_t);

}  // namespace sparsecoll::test
