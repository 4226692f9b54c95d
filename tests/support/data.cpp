// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "support/data.hpp"

#include <bit>
#include <limits>

#include "oracle/half.hpp"

namespace sparsecoll::test {
namespace {

/// Identifies a value: its vector and its index.
struct Position {
  std::size_t n;
  std::size_t i;
  int rank;
  int P;
  std::uint64_t seed;
};

/// Returns an integer in [-limit, limit].
int integer(std::uint64_t h, int limit) {
  return static_cast<int>(h % (2 * static_cast<std::uint64_t>(limit) + 1)) - limit;
}

/// Returns sign / u^3 for uniform u in (0, 1], so that magnitudes extend over many decades. Uses
/// correctly rounded operations only.
template <class T>
T heavy_tail(std::uint64_t h) {
  const T u = static_cast<T>((h >> 41) + 1) / static_cast<T>(1 << 23);
  return ((h & 1) != 0 ? T{-1} : T{1}) / (u * u * u);
}

/// Returns mostly finite values, and NaNs of both signs, with payloads, and infinities.
template <class T>
T not_finite(std::uint64_t h) {
  using Limits = std::numeric_limits<T>;
  switch ((h >> 8) % 12) {
    case 0:
      return Limits::infinity();
    case 1:
      return -Limits::infinity();
    case 2:
      return Limits::quiet_NaN();
    case 3:
      return -Limits::quiet_NaN();
    case 4:
      if constexpr (sizeof(T) == 4) return std::bit_cast<float>(0xffc12345u);
      if constexpr (sizeof(T) == 8) return std::bit_cast<double>(0x7ff8000000abcdefull);
  }
  return static_cast<T>(integer(h >> 16, 1000));
}

/// Returns the extreme values of a 16-bit type, or else those of float, rounded.
template <class T>
T half_value(Kind kind, float wide, std::uint64_t h) {
  using Limits = std::numeric_limits<T>;
  if (kind == Kind::kDenormals)
    return T(static_cast<float>(integer(h, 3) - 1) * static_cast<float>(Limits::denorm_min()));
  if (kind == Kind::kHuge) {
    const float largest = Limits::max();
    return T(((h & 1) != 0 ? largest : -largest) / static_cast<float>(1 + (h >> 8) % 3));
  }
  // NaNs have both signs, and payloads.
  if (wide != wide) return T::of_bits(Limits::infinity().bits + 1 + (h >> 20) % 60 + (h & 0x8000));
  return T(wide);
}

template <class T>
T signed_zero_or_one(std::uint64_t h) {
  if (h % 8 == 0) return (h & 256) != 0 ? T{1} : T{-1};
  return (h & 256) != 0 ? T{0} : -T{0};
}

template <class T>
T wide_value_at(Kind kind, const Position& p) {
  using Limits = std::numeric_limits<T>;
  const auto rank = static_cast<std::uint64_t>(p.rank);
  const auto P = static_cast<std::uint64_t>(p.P);
  const std::uint64_t h = noise(p.seed, rank, p.i);
  const std::uint64_t shared = noise(p.seed, 1u << 20, p.i);  // equal on all ranks
  const bool chosen = rank == p.seed % P;
  switch (kind) {
    case Kind::kIntegers:
      return static_cast<T>(integer(h, 8));
    case Kind::kWideIntegers:
      return static_cast<T>(integer(h, 100000));
    case Kind::kHeavyTail:
      return heavy_tail<T>(h);
    case Kind::kAllEqual:
      return T{3};
    case Kind::kAllZero:
      return T{0};
    case Kind::kOneNonZero:
      return chosen && p.i == p.seed % p.n ? T{-2} : T{0};
    case Kind::kOneRegion:
      return p.i >= p.n - p.n / 8 - 1 ? static_cast<T>(integer(h, 1000)) : T{0};
    case Kind::kHotBlock:
      return p.i / 64 == p.n / 128 ? heavy_tail<T>(h) * T{1024}
                                   : static_cast<T>(integer(h, 2)) / T{1024};
    case Kind::kCancelling: {
      if (h % 7 == 0) return static_cast<T>(integer(h >> 8, 50));
      const int pair_value = integer(noise(p.seed, rank / 2, p.i), 900);
      return static_cast<T>(rank % 2 == 0 ? pair_value : -pair_value);
    }
    case Kind::kDisjoint:
      return p.i % P == rank ? static_cast<T>(integer(h, 1000)) : T{0};
    case Kind::kIdentical:
      return static_cast<T>(integer(shared, 1000));
    case Kind::kSkewed:
      return heavy_tail<T>(h) * (chosen ? T{1 << 20} : T{1});
    case Kind::kNotFinite:
      return chosen ? not_finite<T>(h) : heavy_tail<T>(h);
    case Kind::kInfinityClash:
      if (shared % 3 == 0) return rank % 2 == 0 ? Limits::infinity() : -Limits::infinity();
      return not_finite<T>(h);
    case Kind::kSignedZeros:
      return signed_zero_or_one<T>(h);
    case Kind::kDenormals:
      return static_cast<T>(integer(h, 3) - 1) * Limits::denorm_min();
    case Kind::kHuge:
      return (h & 1) != 0 ? Limits::max() / static_cast<T>(1 + (h >> 8) % 3)
                          : -Limits::max() / static_cast<T>(1 + (h >> 8) % 3);
  }
  return T{0};
}

template <class T>
T value_at(Kind kind, const Position& p) {
  if constexpr (oracle::kIsHalf<T>) {
    const std::uint64_t h = noise(p.seed, static_cast<std::uint64_t>(p.rank), p.i);
    return half_value<T>(kind, value_at<float>(kind, p), h);
  } else {
    return wide_value_at<T>(kind, p);
  }
}

}  // namespace

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::kIntegers:
      return "integers";
    case Kind::kWideIntegers:
      return "wide integers";
    case Kind::kHeavyTail:
      return "heavy tail";
    case Kind::kAllEqual:
      return "all equal";
    case Kind::kAllZero:
      return "all zero";
    case Kind::kOneNonZero:
      return "one non-zero";
    case Kind::kOneRegion:
      return "one region";
    case Kind::kHotBlock:
      return "hot block";
    case Kind::kCancelling:
      return "cancelling";
    case Kind::kDisjoint:
      return "disjoint";
    case Kind::kIdentical:
      return "identical";
    case Kind::kSkewed:
      return "skewed";
    case Kind::kNotFinite:
      return "not finite";
    case Kind::kInfinityClash:
      return "infinity clash";
    case Kind::kSignedZeros:
      return "signed zeros";
    case Kind::kDenormals:
      return "denormals";
    case Kind::kHuge:
      return "huge";
  }
  return "?";
}

std::uint64_t noise(std::uint64_t seed, std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = seed * 0x9e3779b97f4a7c15ull + a * 0xd1342543de82ef95ull +
                    b * 0x2545f4914f6cdd1dull + 0x632be59bd9b4e019ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

template <class T>
std::vector<T> make_data(Kind kind, std::size_t n, int rank, int P, std::uint64_t seed) {
  std::vector<T> data(n);
  for (std::size_t i = 0; i < n; ++i) data[i] = value_at<T>(kind, {n, i, rank, P, seed});
  return data;
}

template <class T>
std::vector<std::vector<T>> make_data_of_all(Kind kind, std::size_t n, int P, std::uint64_t seed) {
  std::vector<std::vector<T>> all;
  for (int rank = 0; rank < P; ++rank) all.push_back(make_data<T>(kind, n, rank, P, seed));
  return all;
}

template std::vector<float> make_data(Kind, std::size_t, int, int, std::uint64_t);
template std::vector<double> make_data(Kind, std::size_t, int, int, std::uint64_t);
template std::vector<oracle::Float16> make_data(Kind, std::size_t, int, int, std::uint64_t);
template std::vector<oracle::Bfloat16> make_data(Kind, std::size_t, int, int, std::uint64_t);
template std::vector<std::vector<float>> make_data_of_all(Kind, std::size_t, int, std::uint64_t);
template std::vector<std::vector<double>> make_data_of_all(Kind, std::size_t, int, std::uint64_t);
template std::vector<std::vector<oracle::Float16>> make_data_of_all(Kind, std::size_t, int,
                                                                    std::uint64_t);
template std::vector<std::vector<oracle::Bfloat16>> make_data_of_all(Kind, std::size_t, int,
                                                                     std::uint64_t);

}  // namespace sparsecoll::test
