// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace sparsecoll {

/// Distance between the positions of adjacent words: 2^64 over the golden ratio.
inline constexpr uint64_t kPositionStep = 0x9e3779b97f4a7c15ull;

/// Computes mixed_words() for four words at a time. Only x86-64 processors with AVX2 can run it.
uint64_t mixed_words_avx2(const std::byte* at, size_t words, uint64_t position);

/// Computes mixed_words() for eight words at a time. Only x86-64 processors with AVX-512 F and DQ
/// can run it.
uint64_t mixed_words_avx512(const std::byte* at, size_t words, uint64_t position);

}  // namespace sparsecoll
