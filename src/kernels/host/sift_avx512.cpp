// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Compiled for AVX-512 F, BW, DQ and VL: nothing in here has a name outside but the table.
#include <immintrin.h>

#include <cstring>

#include "kernels/host/sift.hpp"
#include "kernels/host/simd_x86.hpp"

namespace sparsecoll::host {
namespace {

__mmask16 lowest(size_t n) { return static_cast<__mmask16>((1u << n) - 1); }

__m512i set(uint64_t low_half) {
  return _mm512_set1_epi32(static_cast<int>(static_cast<uint32_t>(low_half)));
}

__m512i lanes() { return _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0); }

bool rising(const uint32_t* index, size_t n) {
  unsigned falls = 0;
  size_t j = 1;
  for (; j + 16 <= n; j += 16)
    falls |=
        _mm512_cmple_epu32_mask(_mm512_loadu_si512(index + j), _mm512_loadu_si512(index + j - 1));
  for (; j < n; ++j) falls |= index[j] <= index[j - 1];
  return falls == 0;
}

// --- coded indices

/// The low bits of 16 entries, from one on. Their bits begin within a byte, and are brought to the
/// lanes as the two words of 16 bits that they lie in.
class LowBits {
 public:
  explicit LowBits(const SiftedCode& code)
      : at_(code.at),
        low_(code.low),
        bits_(_mm512_mullo_epi32(lanes(), set(code.low))),
        mask_(set((uint64_t{1} << code.low) - 1)) {}

  __m512i of(uint64_t entry) const {
    const uint64_t bit = entry * low_;
    const __m512i bits = _mm512_add_epi32(bits_, set(bit % 8));
    const __m512i word = _mm512_srli_epi32(bits, 4);
    const __m512i next = _mm512_slli_epi32(_mm512_add_epi32(word, set(1)), 16);
    const __m512i source = _mm512_loadu_si512(at_ + bit / 8);
    const __m512i both = _mm512_permutexvar_epi16(_mm512_or_si512(word, next), source);
    return _mm512_and_si512(_mm512_srlv_epi32(both, _mm512_and_si512(bits, set(15))), mask_);
  }

 private:
  const std::byte* at_;
  uint64_t low_;
  __m512i bits_;
  __m512i mask_;
};

/// The ones of the unary part are looked at 16 bits at a time.
bool decode(const SiftedCode& code) {
  const LowBits low_bits(code);
  const __m512i lane = lanes(), begin = set(code.begin);
  const __m128i low = _mm_cvtsi32_si128(static_cast<int>(code.low));
  uint64_t j = 0;
  for (uint64_t w = code.unary / 64; w * 64 < code.end; ++w) {
    uint64_t ones;
    std::memcpy(&ones, code.at + w * 8, 8);
    if (w == code.unary / 64) ones &= ~uint64_t{0} << (code.unary % 64);
    if (w == code.end / 64 && ones >> (code.end % 64) != 0) return false;
    if (static_cast<uint64_t>(__builtin_popcountll(ones)) > code.nnz - j) return false;
    for (uint64_t at = w * 64 - code.unary; ones != 0; ones >>= 16, at += 16) {
      const auto here = static_cast<__mmask16>(ones);
      const auto n = static_cast<size_t>(__builtin_popcount(here));
      const __m512i place = _mm512_maskz_compress_epi32(here, lane);
      const __m512i high = _mm512_add_epi32(_mm512_sub_epi32(place, lane), set(at - j));
      const __m512i distance = _mm512_or_si512(_mm512_sll_epi32(high, low), low_bits.of(j));
      const __m512i index = _mm512_add_epi32(distance, begin);
      if (j + 16 <= code.nnz)
        _mm512_storeu_si512(code.out + j, index);
      else
        _mm512_mask_storeu_epi32(code.out + j, lowest(n), index);
      j += n;
    }
  }
  return j == code.nnz && rising(code.out, j);
}

// --- selection

struct FloatKeys {
  using Value = float;
  using Key = uint32_t;
  using Mask = __mmask16;
  static constexpr size_t kLanes = 16;
  static __m512i load(Mask mask, const float* at) { return _mm512_maskz_loadu_epi32(mask, at); }
  /// key_of(): every NaN is just above infinity.
  static __m512i key(__m512i value) {
    return _mm512_min_epu32(_mm512_and_si512(value, set(0x7fffffff)), set(0x7f800001));
  }
  static Mask above(__m512i keys, uint64_t key) { return _mm512_cmpgt_epu32_mask(keys, set(key)); }
  static void store(void* at, Mask mask, __m512i v) {
    const auto n = static_cast<size_t>(__builtin_popcount(mask));
    _mm512_mask_storeu_epi32(at, lowest(n), _mm512_maskz_compress_epi32(mask, v));
  }
  static void store_index(uint32_t* at, Mask mask, const uint32_t* from, Mask all) {
    store(at, mask, _mm512_maskz_loadu_epi32(all, from));
  }
};

struct DoubleKeys {
  using Value = double;
  using Key = uint64_t;
  using Mask = __mmask8;
  static constexpr size_t kLanes = 8;
  static __m512i set(uint64_t value) { return _mm512_set1_epi64(static_cast<long long>(value)); }
  static __m512i load(Mask mask, const double* at) { return _mm512_maskz_loadu_epi64(mask, at); }
  static __m512i key(__m512i value) {
    return _mm512_min_epu64(_mm512_and_si512(value, set(0x7fffffffffffffff)),
                            set(0x7ff0000000000001));
  }
  static Mask above(__m512i keys, uint64_t key) { return _mm512_cmpgt_epu64_mask(keys, set(key)); }
  static void store(void* at, Mask mask, __m512i v) {
    const auto n = static_cast<size_t>(__builtin_popcount(mask));
    _mm512_mask_storeu_epi64(at, static_cast<Mask>(lowest(n)),
                             _mm512_maskz_compress_epi64(mask, v));
  }
  static void store_index(uint32_t* at, Mask mask, const uint32_t* from, Mask all) {
    const __m256i index = _mm256_maskz_loadu_epi32(all, from);
    const auto n = static_cast<size_t>(__builtin_popcount(mask));
    _mm256_mask_storeu_epi32(at, static_cast<Mask>(lowest(n)),
                             _mm256_maskz_compress_epi32(mask, index));
  }
};

template <class K>
typename K::Mask lanes_left(size_t n) {
  constexpr auto kAll = static_cast<typename K::Mask>(~0u);
  return n >= K::kLanes ? kAll : static_cast<typename K::Mask>(lowest(n));
}

template <class K>
size_t count(typename K::Mask mask) {
  return static_cast<size_t>(__builtin_popcount(mask));
}

template <class K>
Sifted sieve(const Sieve<typename K::Value>& s) {
  Sifted found{0, 0};
  for (size_t i = 0; i < s.count; i += K::kLanes) {
    const typename K::Mask all = lanes_left<K>(s.count - i);
    const __m512i values = K::load(all, s.value + i), keys = K::key(values);
    const auto kept = static_cast<typename K::Mask>(K::above(keys, s.key) & all);
    K::store(s.kept_value + found.kept, kept, values);
    K::store_index(s.kept_index + found.kept, kept, s.index + i, all);
    found.kept += count<K>(kept);
    if (!s.dropped_index) continue;
    const auto dropped = static_cast<typename K::Mask>(K::above(keys, 0) & all & ~kept);
    K::store(s.dropped_value + found.dropped, dropped, values);
    K::store_index(s.dropped_index + found.dropped, dropped, s.index + i, all);
    found.dropped += count<K>(dropped);
  }
  return found;
}

template <class K>
Bracketed bracket(const Bracket<typename K::Value, typename K::Key>& b) {
  Bracketed found{0, 0};
  for (size_t i = 0; i < b.count; i += K::kLanes) {
    const typename K::Mask all = lanes_left<K>(b.count - i);
    const __m512i keys = K::key(K::load(all, b.value + i));
    const auto reaching = static_cast<typename K::Mask>(K::above(keys, b.begin - 1) & all);
    const auto above = static_cast<typename K::Mask>(K::above(keys, b.end - 1) & all);
    const auto within = static_cast<typename K::Mask>(reaching & ~above);
    found.above += count<K>(above);
    if (within == 0) continue;
    K::store(b.few + found.within, within, keys);
    found.within += count<K>(within);
  }
  return found;
}

}  // namespace

const Sifts kAvx512Sifts{&decode, &sieve<FloatKeys>, &sieve<DoubleKeys>, &bracket<FloatKeys>,
                         &bracket<DoubleKeys>};

}  // namespace sparsecoll::host
