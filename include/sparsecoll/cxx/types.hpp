// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#ifndef SPARSECOLL_CXX_TYPES_HPP_
#define SPARSECOLL_CXX_TYPES_HPP_

/// @file
/// @brief C++ types as datatypes of the C API; views; configuration. Included by sparsecoll.hpp.

#include <sparsecoll/sparsecoll.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>

namespace sparsecoll {
inline namespace cxx {

/// The datatype of a C++ type, as `value`. float, double and signed integers of 32 and 64 bits have
/// one. Specialise the template for your own types that have the bits of a datatype, such as 16-bit
/// floating-point numbers, for which C++17 has no type:
/// @code
/// template <>
/// struct sparsecoll::DatatypeOf<Half> {
///   static constexpr sparsecollDataType_t value = sparsecollFloat16;
/// };
/// @endcode
template <class T, class Enable = void>
struct DatatypeOf;

/// Says that float is sparsecollFloat32.
template <>
struct DatatypeOf<float> {
  /// The datatype.
  static constexpr sparsecollDataType_t value = sparsecollFloat32;
};

/// Says that double is sparsecollFloat64.
template <>
struct DatatypeOf<double> {
  /// The datatype.
  static constexpr sparsecollDataType_t value = sparsecollFloat64;
};

/// Says that signed integers of 32 and 64 bits are sparsecollInt32 and sparsecollInt64.
template <class T>
struct DatatypeOf<T, std::enable_if_t<std::is_integral_v<T> && std::is_signed_v<T> &&
                                      (sizeof(T) == 4 || sizeof(T) == 8)>> {
  /// The datatype.
  static constexpr sparsecollDataType_t value = sizeof(T) == 4 ? sparsecollInt32 : sparsecollInt64;
};

/// The `k` of a `v` verb that asks for the exact sum of all entries: SPARSECOLL_ALL as a constant.
inline constexpr std::size_t kAll = static_cast<std::size_t>(-1);

/// A view of contiguous elements, for data that are in no container. std::span works as well.
template <class T>
class Span {
 public:
  /// Makes an empty view.
  constexpr Span() noexcept = default;
  /// Makes a view of `size` elements, which the caller owns.
  /// @param data  the first element.
  /// @param size  the number of elements.
  constexpr Span(T* data, std::size_t size) noexcept : data_(data), size_(size) {}
  /// Makes a view of all elements of a container, an array or another span.
  template <class Range, class Pointer = decltype(std::data(std::declval<Range&>())),
            class = std::enable_if_t<
                std::is_convertible_v<std::remove_pointer_t<Pointer> (*)[], T (*)[]>>>
  constexpr Span(Range&& range) noexcept : data_(std::data(range)), size_(std::size(range)) {}

  /// Returns the address of the first element.
  constexpr T* data() const noexcept { return data_; }
  /// Returns the number of elements.
  constexpr std::size_t size() const noexcept { return size_; }
  /// Returns true if there are no elements.
  constexpr bool empty() const noexcept { return size_ == 0; }
  /// Returns the beginning of the range.
  constexpr T* begin() const noexcept { return data_; }
  /// Returns the end of the range.
  constexpr T* end() const noexcept { return data_ + size_; }
  /// Returns an element. @param i its position, below size().
  constexpr T& operator[](std::size_t i) const noexcept { return data_[i]; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// The type of a container's elements, without const.
template <class Range>
using Element =
    std::remove_cv_t<std::remove_pointer_t<decltype(std::data(std::declval<Range&>()))>>;

/// The type of sums and residuals of T: float for float16 and bfloat16, otherwise T.
template <class T>
using Accumulation = std::conditional_t<DatatypeOf<T>::value == sparsecollFloat16 ||
                                            DatatypeOf<T>::value == sparsecollBfloat16,
                                        float, T>;

/// A sparsecollConfig_t that starts from the defaults.
struct Config : sparsecollConfig_t {
  /// Sets the defaults, SPARSECOLL_CONFIG_INITIALIZER.
  Config() noexcept : sparsecollConfig_t(SPARSECOLL_CONFIG_INITIALIZER) {}
};

/// A sparsecollPushSumConfig_t that starts from the defaults.
struct PushSumConfig : sparsecollPushSumConfig_t {
  /// Sets the defaults, SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER.
  PushSumConfig() noexcept : sparsecollPushSumConfig_t(SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER) {}
};

namespace detail {

/// Returns sparsecollIndex32 or sparsecollIndex64.
template <class Index>
constexpr sparsecollIndexType_t index_type() {
  static_assert(std::is_unsigned_v<Index> && (sizeof(Index) == 4 || sizeof(Index) == 8),
                "indices are unsigned, of 32 or 64 bit");
  return sizeof(Index) == 4 ? sparsecollIndex32 : sparsecollIndex64;
}

}  // namespace detail
}  // namespace cxx
}  // namespace sparsecoll

#endif  // SPARSECOLL_CXX_TYPES_HPP_
