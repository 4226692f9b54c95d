// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/floor.hpp"

#include <sys/mman.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "common/half.hpp"

namespace sparsecoll::perf {
namespace {

struct alignas(64) Line {
  std::byte bytes[64];
};

/// Stores a line past the caches, if this CPU's instructions are known.
void stream(Line& to, const Line& from) {
#ifdef __SSE2__
  for (int part = 0; part < 4; ++part)
    _mm_stream_si128(reinterpret_cast<__m128i*>(&to) + part,
                     _mm_load_si128(reinterpret_cast<const __m128i*>(&from) + part));
#else
  to = from;
#endif
}

/// Allocates lines, in huge pages if the system has them.
Line* allocate_lines(std::size_t n) {
  constexpr std::size_t kPage = std::size_t{2} << 20;
  const std::size_t bytes = (n * sizeof(Line) + kPage - 1) / kPage * kPage;
  void* const at = std::aligned_alloc(kPage, bytes);
  if (!at) throw std::bad_alloc();
  madvise(at, bytes, MADV_HUGEPAGE);
  return static_cast<Line*>(at);
}

/// Zeros of type V in whole lines. The elements of a last line that is not whole are left out.
template <class V>
class Lines {
 public:
  static constexpr std::size_t kEach = sizeof(Line) / sizeof(V);

  explicit Lines(std::size_t n) : size_(n / kEach), lines_(allocate_lines(size_)) {
    std::uninitialized_fill_n(lines_.get(), size_, Line{});
  }
  std::size_t size() const { return size_; }
  Line& operator[](std::size_t line) { return lines_.get()[line]; }

 private:
  struct Free {
    void operator()(Line* lines) const { std::free(lines); }
  };
  std::size_t size_;
  std::unique_ptr<Line, Free> lines_;
};

template <class T>
class Floor {
 public:
  Floor(std::span<const T> gradient, bool feedback)
      : gradient_(gradient),
        residual_(feedback ? gradient.size() : 0),
        next_(feedback ? gradient.size() : 0),
        result_(gradient.size()) {}

  void pass() {
    constexpr std::size_t kBlock = 4096;
    for (std::size_t begin = 0; begin < gradient_.size(); begin += kBlock) {
      const std::size_t end = std::min(begin + kBlock, gradient_.size());
      residual_.size() > 0 ? add(begin, end) : read(begin, end);
      const std::size_t last = std::min(end / Lines<T>::kEach, result_.size());
      for (std::size_t line = begin / Lines<T>::kEach; line < last; ++line)
        stream(result_[line], Line{});
    }
#ifdef __SSE2__
    _mm_sfence();
#endif
    std::swap(residual_, next_);
  }

 private:
  using Sum = Wide<T>;

  void add(std::size_t begin, std::size_t end) {
    constexpr std::size_t kEach = Lines<Sum>::kEach;
    for (std::size_t line = begin / kEach; line < std::min(end / kEach, next_.size()); ++line) {
      Sum previous[kEach];
      std::memcpy(previous, &residual_[line], sizeof previous);
      alignas(64) Sum sum[kEach];
      for (std::size_t i = 0; i < kEach; ++i)
        sum[i] = previous[i] + static_cast<Sum>(gradient_[line * kEach + i]);
      stream(next_[line], *reinterpret_cast<const Line*>(sum));
    }
  }

  void read(std::size_t begin, std::size_t end) {
    Sum chain[32] = {};  // independent sums, so that the memory limits the speed
    for (std::size_t i = begin; i + 32 <= end; i += 32)
      for (std::size_t c = 0; c < 32; ++c) chain[c] += static_cast<Sum>(gradient_[i + c]);
    volatile Sum sink = 0;  // keeps the compiler from removing the loop
    for (const Sum each : chain) sink = sink + each;
  }

  std::span<const T> gradient_;
  Lines<Sum> residual_, next_;
  Lines<T> result_;
};

}  // namespace

template <class T>
Times measure_floor(Ranks& ranks, const Options& options, std::span<const T> gradient) {
  Floor<T> floor(gradient, options.feedback);
  return measure(
      ranks, options, [] {}, [&] { floor.pass(); });
}

template Times measure_floor(Ranks&, const Options&, std::span<const float>);
template Times measure_floor(Ranks&, const Options&, std::span<const double>);
template Times measure_floor(Ranks&, const Options&, std::span<const Float16>);
template Times measure_floor(Ranks&, const Options&, std::span<const Bfloat16>);

}  // namespace sparsecoll::perf
