// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#ifndef SPARSECOLL_CXX_TYPES_HPP_
#define SPARSECOLL_CXX_TYPES_HPP_

/// @file
/// @brief What C++ types are to the C API; views; configuration. Included by sparsecoll.hpp.

#include <sparsecoll/sparsecoll.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>

namespace sparsecoll {
inline namespace cxx {

/// The datatype of a C++ type as `value`. float, double and signed integers have one. Specialise it
/// for types of your own that have the bits of a datatype; 16-bit floating-point numbers have no
/// type that all compilers know:
/// @code
/// template <>
/// struct sparsecoll::DatatypeOf<Half> {
///   static constexpr sparsecollDataType_t value = sparsecollFloat16;
/// };
/// @endcode
template <class T, class Enable = void>
struct DatatypeOf;

/// float
template <>
struct DatatypeOf<float> {
  /// its datatype
  static constexpr sparsecollDataType_t value = sparsecollFloat32;
};

/// double
template <>
struct DatatypeOf<double> {
  /// its datatype
  static constexpr sparsecollDataType_t value = sparsecollFloat64;
};

/// Signed integers of 32 and 64 bit.
template <class T>
struct DatatypeOf<T, std::enable_if_t<std::is_integral_v<T> && std::is_signed_v<T> &&
                                      (sizeof(T) == 4 || sizeof(T) == 8)>> {
  /// its datatype
  static constexpr sparsecollDataType_t value = sizeof(T) == 4 ? sparsecollInt32 : sparsecollInt64;
};

/// As `k` of a `v` verb: the exact sum of all entries. SPARSECOLL_ALL as a constant.
inline constexpr std::size_t kAll = static_cast<std::size_t>(-1);

/// A pointer and a length, for data that are in no container; std::span does as well.
template <class T>
class Span {
 public:
  /// The empty one.
  constexpr Span() noexcept = default;
  /// @param data  first of `size` elements, which stay the caller's.
  /// @param size  how many.
  constexpr Span(T* data, std::size_t size) noexcept : data_(data), size_(size) {}
  /// Everything in a container, an array or another span.
  template <class Range, class Pointer = decltype(std::data(std::declval<Range&>())),
            class = std::enable_if_t<
                std::is_convertible_v<std::remove_pointer_t<Pointer> (*)[], T (*)[]>>>
  constexpr Span(Range&& range) noexcept : data_(std::data(range)), size_(std::size(range)) {}

  /// The first element.
  constexpr T* data() const noexcept { return data_; }
  /// How many there are.
  constexpr std::size_t size() const noexcept { return size_; }
  /// True without elements.
  constexpr bool empty() const noexcept { return size_ == 0; }
  /// For range-based for.
  constexpr T* begin() const noexcept { return data_; }
  /// For range-based for.
  constexpr T* end() const noexcept { return data_ + size_; }
  /// One element. @param i below size().
  constexpr T& operator[](std::size_t i) const noexcept { return data_[i]; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// The type of a container's elements, without const.
template <class Range>
using Element =
    std::remove_cv_t<std::remove_pointer_t<decltype(std::data(std::declval<Range&>()))>>;

/// The type in which sums of T are formed and residuals kept: float for float16 and bfloat16, else
/// T.
template <class T>
using Accumulation = std::conditional_t<DatatypeOf<T>::value == sparsecollFloat16 ||
                                            DatatypeOf<T>::value == sparsecollBfloat16,
                                        float, T>;

/// sparsecollConfig_t that starts from its defaults.
struct Config : sparsecollConfig_t {
  /// SPARSECOLL_CONFIG_INITIALIZER
  Config() noexcept : sparsecollConfig_t(SPARSECOLL_CONFIG_INITIALIZER) {}
};

/// sparsecollPushSumConfig_t that starts from its defaults.
struct PushSumConfig : sparsecollPushSumConfig_t {
  /// SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER
  PushSumConfig() noexcept : sparsecollPushSumConfig_t(SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER) {}
};

namespace detail {

/// sparsecollIndex32 or sparsecollIndex64.
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
