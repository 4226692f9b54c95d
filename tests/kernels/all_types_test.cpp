// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Compares kernels that no verb uses alone with plain loops, for every type: accumulate_above,
// least_key, deliver_concatenated.

#include <cmath>
#include <cstdlib>
#include <limits>
#include <type_traits>

#include "kernels/naive.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/typed.hpp"

namespace sparsecoll::unit {
namespace {

using oracle::Wide;

/// Kernels of a tensor of type T.
template <class T>
using PlaceOf = Backend<Wide<T>, uint32_t, static_cast<DataType>(test::kDatatype<T>)>;

template <class W>
bool is_nan(W value) {
  if constexpr (std::is_integral_v<W>)
    return false;
  else
    return std::isnan(value);
}

/// Returns |a| of an integer. It is unsigned, because the smallest integer has no positive
/// counterpart.
template <class W>
std::make_unsigned_t<W> magnitude(W a) {
  const auto bits = static_cast<std::make_unsigned_t<W>>(a);
  return a < 0 ? std::make_unsigned_t<W>(0) - bits : bits;
}

/// Returns whether |a| is at least |b|, with NaN above all.
template <class W>
bool reaches(W a, W b) {
  if constexpr (std::is_integral_v<W>)
    return magnitude(a) >= magnitude(b);
  else
    return !larger(b, a);
}

/// Returns the key of a value. Other tests compare keys with the order of values.
template <class W>
uint64_t key_in(W value) {
  if constexpr (std::is_integral_v<W>)
    return magnitude(value);
  else
    return key_of(value);
}

template <class W>
W sum_of(W a, W b) {
  if constexpr (std::is_integral_v<W>) {
    using U = std::make_unsigned_t<W>;
    return static_cast<W>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return a + b;
  }
}

template <class W>
std::vector<W> plain(std::vector<W> values) {
  for (W& value : values)
    if (is_nan(value)) value = std::numeric_limits<W>::quiet_NaN();
  return values;
}

template <class W>
Entries<W> plain(Entries<W> entries) {
  for (auto& entry : entries)
    if (is_nan(entry.value)) entry.value = std::numeric_limits<W>::quiet_NaN();
  return entries;
}

/// Returns values of T: integers of every size with both ends of the range, or floating-point
/// values of this kind.
template <class T>
std::vector<T> values_of(test::Kind kind, size_t n, uint64_t seed) {
  if constexpr (std::is_integral_v<T>) {
    std::vector<T> values;
    for (size_t i = 0; i < n; ++i)
      values.push_back(static_cast<T>(static_cast<int64_t>(test::noise(seed, i)) >>
                                      test::noise(seed, i, 1) % 64));
    if (n > 2) values[n / 2] = std::numeric_limits<T>::min();
    if (n > 3) values[n / 3] = std::numeric_limits<T>::max();
    return values;
  } else {
    return dense_of<T>(kind, n, seed);
  }
}

/// Returns the part of a selected value that is sent, and the part that stays.
template <class T>
Wide<T> shipped_of(Wide<T> value) {
  if constexpr (oracle::kIsHalf<T>)
    return static_cast<float>(T(value)) + 0.0f;
  else
    return value;
}
template <class T>
Wide<T> left_of(Wide<T> value) {
  if constexpr (oracle::kIsHalf<T>)
    return std::isfinite(value) ? value - shipped_of<T>(value) : 0.0f;
  else
    return Wide<T>{0};
}

/// Selects all values that reach `least`, into memory for `room` entries.
template <class T>
std::string check_above(const std::vector<T>& gradient, const std::vector<Wide<T>>* old,
                        Wide<T> least, size_t room) {
  const size_t n = gradient.size();
  Entries<Wide<T>> want;
  std::vector<Wide<T>> want_left, left(n, Wide<T>(7));
  for (size_t i = 0; i < n; ++i) {
    const auto wide = static_cast<Wide<T>>(gradient[i]);
    const Wide<T> acc = old ? sum_of(wide, (*old)[i]) : wide;
    const bool taken = reaches(acc, least);
    if (taken) want.push_back({i, shipped_of<T>(acc)});
    want_left.push_back(taken ? left_of<T>(acc) : acc);
  }
  PlaceOf<T> backend;
  const SparseBuffer out = backend.kernels().sparse(room);
  const ResidualView view{old ? old->data() : nullptr, old ? left.data() : nullptr};
  backend.kernels().accumulate_above({gradient.data(), n, view}, key_in(least), out);
  if (*out.nnz != want.size())
    return std::to_string(*out.nnz) + " found instead of " + std::to_string(want.size());
  if (want.size() > room) return "";
  const std::string differs = test::difference("selected", plain(backend.get(out)), plain(want));
  return differs.empty() && old ? test::difference("left", plain(left), plain(want_left)) : differs;
}

TEMPLATE_TEST_CASE("accumulate_above takes what reaches a magnitude, the rest stays", "",
                   oracle::Float16, oracle::Bfloat16, float, double, int32_t, int64_t) {
  using W = Wide<TestType>;
  for (const test::Kind kind : kDenseKinds) {
    for (const size_t n : {size_t{0}, size_t{1}, size_t{64}, size_t{65}, size_t{700}}) {
      const auto gradient = values_of<TestType>(kind, n, 3);
      const auto old = values_of<W>(test::Kind::kHeavyTail, n, 4);
      std::vector<W> some{W(1), std::numeric_limits<W>::max()};
      for (size_t i = 0; i < n; i += 1 + n / 5) {
        some.push_back(static_cast<W>(gradient[i]));
        some.push_back(sum_of(static_cast<W>(gradient[i]), old[i]));
        // This value is between two values of a 16-bit type.
        if constexpr (!std::is_integral_v<W>)
          some.push_back(std::nextafter(std::fabs(static_cast<W>(gradient[i])), W(HUGE_VAL)));
      }
      if constexpr (!std::is_integral_v<W>) {
        some.push_back(kInfinite<W>);
        some.push_back(kNotANumber<W>);
      }
      for (const W least : some) {
        if (least == 0) continue;  // no key is below 0
        INFO(test::name_of(kind) << ", n = " << n << ", least " << least);
        CHECK(check_above<TestType>(gradient, nullptr, least, n) == "");
        CHECK(check_above<TestType>(gradient, &old, least, n) == "");
        CHECK(check_above<TestType>(gradient, &old, least, n / 8) == "");
      }
    }
  }
}

TEMPLATE_TEST_CASE("least_key is that of the smallest magnitude", "", oracle::Float16,
                   oracle::Bfloat16, float, double, int32_t, int64_t) {
  using W = Wide<TestType>;
  for (const test::Kind kind : kDenseKinds) {
    for (const size_t n : {size_t{0}, size_t{1}, size_t{2}, size_t{300}}) {
      Entries<W> in;
      for (const W value : values_of<W>(kind, n, 5)) in.push_back({3 * in.size(), value});
      uint64_t want = 0;
      for (const auto& one : in) {
        bool least = true;
        for (const auto& other : in) least = least && reaches(other.value, one.value);
        if (least) want = key_in(one.value);
      }
      PlaceOf<TestType> backend;
      uint64_t got = 99;
      backend.kernels().least_key(backend.put(in), &got);
      INFO(test::name_of(kind) << ", n = " << n);
      CHECK(got == want);
    }
  }
}

TEMPLATE_TEST_CASE("deliver_concatenated keeps order, repetitions and bits, but for those of NaNs",
                   "", oracle::Float16, oracle::Bfloat16, float, double, int32_t, int64_t) {
  using W = Wide<TestType>;
  for (const test::Kind kind : kDenseKinds) {
    PlaceOf<TestType> backend;
    std::vector<SparseSpan> inputs;
    Entries<TestType> want;
    for (uint64_t p = 0; p < 5; ++p) {
      Entries<W> input;
      for (const TestType value : values_of<TestType>(kind, p == 2 ? 0 : 90, p)) {
        // Every input has the same indices, in falling order.
        input.push_back({7 * input.size(), static_cast<W>(value)});
        const bool nan = is_nan(static_cast<W>(value));
        want.push_back({input.back().index, nan ? TestType(std::nan("")) : value});
      }
      inputs.push_back(backend.put(input));
    }
    const SparseBuffer out = backend.kernels().sparse(want.size());
    backend.kernels().deliver_concatenated(inputs, out);
    INFO(test::name_of(kind));
    CHECK(test::difference("all", backend.template get<TestType>(out), want) == "");
    backend.kernels().deliver_concatenated({}, out);
    CHECK(*out.nnz == 0);
  }
}

}  // namespace
}  // namespace sparsecoll::unit
