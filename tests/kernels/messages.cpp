// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/messages.hpp"

#include <limits>

#include "support/data.hpp"

namespace sparsecoll::unit {

const std::vector<WireCase>& wire_cases() {
  constexpr uint64_t k2to32 = uint64_t{1} << 32;
  static const std::vector<WireCase> cases{
      {"nothing of a long region", Representation::coded, {5, 100000}, 0, false},
      {"one of many", Representation::coded, {0, 1000000}, 1, false},
      {"a few", Representation::coded, {12345, 1012345}, 7, false},
      {"one low bit", Representation::coded, {3, 1028}, 256, false},
      {"two low bits", Representation::coded, {0, 1000}, 230, false},
      {"eight low bits", Representation::coded, {k2to32 - 204800, k2to32}, 400, false},
      {"up to a word's end", Representation::coded, {8, 8 + 262145}, 16384, false},
      {"many", Representation::coded, {77, 77 + 3 * 65536}, 5000, false},
      {"many far out", Representation::coded, {k2to32 * 9, k2to32 * 9 + 70000}, 333, true},
      {"all of 32 bits", Representation::coded, {0, k2to32}, 9, false},
      {"above 2^32", Representation::coded, {3, k2to32 + 4}, 6, true},
      {"far above 2^32", Representation::coded, {k2to32 * 1000, k2to32 * 5000}, 50, true},
      {"narrow, far out", Representation::coded, {k2to32 * 7, k2to32 * 7 + 900000}, 5, true},
      {"60 low bits", Representation::coded, {7, k2to32 * (k2to32 / 4)}, 3, true},
      {"57 low bits", Representation::coded, {0, k2to32 * (k2to32 / 4)}, 30, true},
      {"all but one of 64 bits", Representation::coded, {1, ~uint64_t{0}}, 1, true},
      {"bits", Representation::bitmap, {0, 1000}, 300, false},
      {"bits, whole words", Representation::bitmap, {640, 1280}, 639, false},
      {"bits, one in the last word", Representation::bitmap, {1, 130}, 100, false},
      {"bits of many words", Representation::bitmap, {100, 70100}, 30000, false},
      {"two of three", Representation::bitmap, {8, 11}, 2, false},
      {"no length", Representation::dense, {4000, 4000}, 0, false},
      {"one of one", Representation::dense, {17, 18}, 1, false},
      {"full", Representation::dense, {100, 1100}, 1000, false},
      {"full, far out", Representation::dense, {k2to32 - 3, k2to32 + 3}, 6, true},
  };
  return cases;
}

template <class T>
Entries<T> entries_of(const WireCase& shape, uint64_t seed) {
  Entries<T> entries;
  const uint64_t length = shape.region.length();
  const T special[] = {T{0} * T{-1}, std::numeric_limits<T>::quiet_NaN(),
                       std::numeric_limits<T>::infinity(), std::numeric_limits<T>::denorm_min()};
  for (uint64_t j = 0; j < shape.nnz; ++j) {
    // Entry j lies in its own share of the region; the first and the last at its ends.
    const uint64_t share = length / shape.nnz,
                   first = j * share + j * (length % shape.nnz) / shape.nnz;
    uint64_t at = first + test::noise(seed, j) % share;
    if (j == 0) at = 0;
    if (j > 0 && j + 1 == shape.nnz) at = length - 1;
    const uint64_t dice = test::noise(seed + 1, j);
    const T value = dice % 16 < 4 ? special[dice % 4] : static_cast<T>(j) + T{0.25};
    entries.push_back({shape.region.begin + at, value});
  }
  return entries;
}

template Entries<float> entries_of(const WireCase&, uint64_t);
template Entries<double> entries_of(const WireCase&, uint64_t);

}  // namespace sparsecoll::unit
