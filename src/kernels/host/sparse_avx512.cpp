// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// This file is compiled for AVX-512 F, BW, DQ and VL and BMI2. Only the table has external linkage.
#include <immintrin.h>

#include <cstring>

#include "kernels/host/simd_x86.hpp"
#include "kernels/host/sparse_simd.hpp"

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

uint64_t load_word(const void* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

/// A string of bits that goes on to the end of its last word.
class Bits {
 public:
  explicit Bits(std::byte* at) : at_(at) {}

  /// Appends the next n bits, at most 64. All higher bits must be 0.
  void put(uint64_t bits, unsigned n) {
    word_ |= bits << filled_;
    filled_ += n;
    if (filled_ < 64) return;
    store();
    filled_ -= 64;
    word_ = filled_ == 0 ? 0 : bits >> (n - filled_);
  }
  /// Adds the ones of the unary part, at rising positions. put() cannot be called afterwards.
  void put_ones(const EncodeTask& in);

 private:
  void store() {
    std::memcpy(at_ + w_ * 8, &word_, 8);
    ++w_;
  }
  /// Stores all words before word w, and makes `word_` the word w.
  void go_to(uint64_t w) {
    for (; w_ < w; word_ = 0) store();
  }
  void put_one(uint64_t bit) {
    go_to(bit / 64);
    word_ |= uint64_t{1} << (bit % 64);
  }

  std::byte* at_;
  uint64_t word_ = 0, w_ = 0;
  unsigned filled_ = 0;
};

/// The one bits of 16 entries mostly lie in two adjacent words. Then they are added to these two
/// words at once.
void Bits::put_ones(const EncodeTask& in) {
  const __m512i lane = lanes(), begin = set(in.begin);
  const __m128i low = _mm_cvtsi32_si128(static_cast<int>(in.low));
  const __m512i one = _mm512_set1_epi64(1), word = _mm512_set1_epi64(64);
  const auto high = [&](uint64_t j) -> uint64_t { return (in.index[j] - in.begin) >> in.low; };
  uint64_t j = 0;
  for (; j + 16 <= in.nnz; j += 16) {
    const uint64_t first = in.unary + j + high(j), last = in.unary + j + 15 + high(j + 15);
    if (last / 64 > first / 64 + 1) {
      for (uint64_t i = j; i < j + 16; ++i) put_one(in.unary + i + high(i));
      continue;
    }
    const __m512i distance = _mm512_sub_epi32(_mm512_loadu_si512(in.index + j), begin);
    const __m512i steps = _mm512_add_epi32(_mm512_srl_epi32(distance, low), lane);
    const __m512i bits = _mm512_add_epi32(steps, set(first % 64 - high(j)));
    const __m512i a = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(bits));
    const __m512i b = _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(bits, 1));
    go_to(first / 64);  // shifts by 64 or more, also by a wrapped negative number, give zero
    word_ |= static_cast<uint64_t>(_mm512_reduce_or_epi64(
        _mm512_or_si512(_mm512_sllv_epi64(one, a), _mm512_sllv_epi64(one, b))));
    if (last / 64 == first / 64) continue;
    go_to(last / 64);
    word_ |= static_cast<uint64_t>(
        _mm512_reduce_or_epi64(_mm512_or_si512(_mm512_sllv_epi64(one, _mm512_sub_epi64(a, word)),
                                               _mm512_sllv_epi64(one, _mm512_sub_epi64(b, word)))));
  }
  for (; j < in.nnz; ++j) put_one(in.unary + j + high(j));
  go_to(in.words);
}

/// Low bits are narrowed to the fewest bytes that hold them, and combined 8 bytes at a time.
void encode(const EncodeTask& in) {
  Bits out(in.at);
  const uint64_t mask = (uint64_t{1} << in.low) - 1;
  const __m512i begin = set(in.begin), masks = set(mask);
  const bool bytes = in.low <= 8;
  const uint64_t wanted = mask * (bytes ? 0x0101010101010101 : 0x0001000100010001);
  const unsigned step = in.low * (bytes ? 8 : 4);
  uint64_t j = 0;
  for (; in.low > 0 && j + 16 <= in.nnz; j += 16) {
    const __m512i distance = _mm512_sub_epi32(_mm512_loadu_si512(in.index + j), begin);
    const __m512i low = _mm512_and_si512(distance, masks);
    alignas(32) uint64_t narrow[4];
    if (bytes)
      _mm_store_si128(reinterpret_cast<__m128i*>(narrow), _mm512_cvtepi32_epi8(low));
    else
      _mm256_store_si256(reinterpret_cast<__m256i*>(narrow), _mm512_cvtepi32_epi16(low));
    for (int w = 0; w < (bytes ? 2 : 4); ++w) out.put(_pext_u64(narrow[w], wanted), step);
  }
  for (; in.low > 0 && j < in.nnz; ++j) out.put((in.index[j] - in.begin) & mask, in.low);
  out.put_ones(in);
}

/// Returns the low bits of 16 entries from one on. The bits of an entry begin within a byte. They
/// come to its lane as the two words of 16 bits that hold them.
class LowBits {
 public:
  explicit LowBits(const DecodeTask& code)
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

/// Reads 16 bits of the unary part at a time.
bool decode(const DecodeTask& code) {
  const LowBits low_bits(code);
  const __m512i lane = lanes(), begin = set(code.begin);
  const __m128i low = _mm_cvtsi32_si128(static_cast<int>(code.low));
  uint64_t j = 0;
  for (uint64_t w = code.unary / 64; w * 64 < code.end; ++w) {
    uint64_t ones = load_word(code.at + w * 8);
    if (w == code.unary / 64) ones &= ~uint64_t{0} << (code.unary % 64);
    if (w == code.end / 64 && ones >> (code.end % 64) != 0) return false;
    if (static_cast<uint64_t>(__builtin_popcountll(ones)) > code.nnz - j) return false;
    for (uint64_t at = w * 64 - code.unary; ones != 0; ones >>= 16, at += 16) {
      const auto here = static_cast<__mmask16>(ones);
      const auto n = static_cast<size_t>(__builtin_popcount(here));
      const __m512i ones_at = _mm512_maskz_compress_epi32(here, lane);
      const __m512i high = _mm512_add_epi32(_mm512_sub_epi32(ones_at, lane), set(at - j));
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
  /// Returns the keys of key_of(): every NaN is just above infinity.
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
PartitionCounts partition(const PartitionTask<typename K::Value>& s) {
  PartitionCounts found{0, 0};
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
KeyRangeCounts key_range(const KeyRangeTask<typename K::Value, typename K::Key>& b) {
  KeyRangeCounts found{0, 0};
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

const SparseLoops kAvx512SparseLoops{&rising,
                                     &encode,
                                     &decode,
                                     &put_plain_avx512,
                                     &get_plain_avx512,
                                     &canonical_f32_avx512,
                                     &canonical_f64_avx512,
                                     &partition<FloatKeys>,
                                     &partition<DoubleKeys>,
                                     &key_range<FloatKeys>,
                                     &key_range<DoubleKeys>};

}  // namespace sparsecoll::host
