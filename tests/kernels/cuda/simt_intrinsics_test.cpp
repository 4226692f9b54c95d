// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests the emulator's warp intrinsics against plain loops.

#include <numeric>

#include "kernels/cuda/simt_block.hpp"
#include "support/catch.hpp"

namespace sparsecoll::cuda_test {
namespace {

struct Votes {
  unsigned ballot;
  int any, all;
  unsigned same;
  int count, some;
  bool operator==(const Votes&) const = default;
};
__global__ void vote(const int* in, Votes* out) {
  const int own = in[threadIdx.x];
  Votes votes{};
  votes.ballot = __ballot_sync(cuda::kFullWarp, own > 0);
  votes.any = __any_sync(cuda::kFullWarp, own > 1);
  votes.all = __all_sync(cuda::kFullWarp, own > -2);
  votes.same = __match_any_sync(cuda::kFullWarp, own);
  __syncwarp();
  votes.count = __syncthreads_count(own > 0);
  votes.some = __syncthreads_or(own > 1000);
  out[threadIdx.x] = votes;
}

TEST_CASE("votes are those of the warp, counts those of the block") {
  for (const uint64_t seed : {1, 2, 3}) {
    const std::vector<int> in = some<int>(seed, seed == 3 ? 3 : 5);
    const int positive =
        static_cast<int>(std::count_if(in.begin(), in.end(), [](int value) { return value > 0; }));
    const auto want = of_warps<Votes>(in, [&](const int* warp, unsigned lane) {
      Votes votes{0, 0, 1, 0, positive, 0};
      for (unsigned l = 0; l < 32; ++l) {
        votes.ballot |= (warp[l] > 0 ? 1u : 0u) << l;
        votes.same |= (warp[l] == warp[lane] ? 1u : 0u) << l;
        votes.any |= warp[l] > 1;
        votes.all &= warp[l] > -2;
      }
      return votes;
    });
    CHECK((of_block(vote, in) == want));
  }
}

template <int width>
struct Shuffled {
  double from, rotated, up, down, across;
  bool operator==(const Shuffled&) const = default;
};
template <int width>
__global__ void shuffle(const double* in, Shuffled<width>* out) {
  const double own = in[threadIdx.x];
  const int lane = static_cast<int>(threadIdx.x % 32);
  Shuffled<width> all{};
  all.from = __shfl_sync(cuda::kFullWarp, own, 3, width);
  all.rotated = __shfl_sync(cuda::kFullWarp, own, lane + 5, width);
  all.up = __shfl_up_sync(cuda::kFullWarp, own, 3, width);
  all.down = __shfl_down_sync(cuda::kFullWarp, own, 3, width);
  all.across = __shfl_xor_sync(cuda::kFullWarp, own, 13, width);
  out[threadIdx.x] = all;
}

/// Implements the rules of the programming guide, segment by segment.
template <int width>
void check_shuffles() {
  const std::vector<double> in = some<double>(4, 1000);
  const auto want = of_warps<Shuffled<width>>(in, [&](const double* warp, unsigned lane) {
    const int own = static_cast<int>(lane), begin = own / width * width, end = begin + width;
    const int across = own ^ 13;
    return Shuffled<width>{warp[begin + 3 % width], warp[begin + (own + 5) % width],
                           warp[own - 3 < begin ? own : own - 3],
                           warp[own + 3 >= end ? own : own + 3],
                           warp[across >= end ? own : across]};
  });
  CHECK((of_block(shuffle<width>, in) == want));
}

TEST_CASE("shuffles stay in their segment") {
  check_shuffles<32>();
  check_shuffles<16>();
  check_shuffles<8>();
  check_shuffles<2>();
}

template <class V>
struct Reduced {
  V sum, most, least;
  bool operator==(const Reduced&) const = default;
};
template <class V>
__global__ void reduce(const V* in, Reduced<V>* out) {
  const V own = in[threadIdx.x];
  out[threadIdx.x] = {__reduce_add_sync(cuda::kFullWarp, own),
                      __reduce_max_sync(cuda::kFullWarp, own),
                      __reduce_min_sync(cuda::kFullWarp, own)};
}
template <class V>
void check_reductions(uint64_t below) {
  const std::vector<V> in = some<V>(5, below);
  const auto want = of_warps<Reduced<V>>(in, [](const V* warp, unsigned) {
    return Reduced<V>{static_cast<V>(std::accumulate(warp, warp + 32, 0u)),
                      *std::max_element(warp, warp + 32), *std::min_element(warp, warp + 32)};
  });
  CHECK((of_block(reduce<V>, in) == want));
}

TEST_CASE("reductions are of all lanes, signed and unsigned") {
  check_reductions<int>(1000);
  check_reductions<unsigned>(1000);
  check_reductions<unsigned>(uint64_t{1} << 32);
}

struct Counts {
  int set, set_long, zeros, zeros_long, first, first_long;
  bool operator==(const Counts&) const = default;
};
__global__ void count_bits(const unsigned long long* in, Counts* out) {
  const unsigned long long value = in[threadIdx.x];
  const auto low = static_cast<unsigned>(value);
  out[threadIdx.x] = {__popc(low),    __popcll(value), __clz(low),
                      __clzll(value), __ffs(low),      __ffsll(value)};
}

TEST_CASE("bits are counted") {
  std::vector<unsigned long long> in;
  for (unsigned t = 0; t < kThreads; ++t) in.push_back(test::noise(6, t) >> t % 65 % 64);
  in[0] = 0;
  in[1] = 1ull << 63;
  in[2] = 1ull << 32;
  const auto want = of_warps<Counts>(in, [](const unsigned long long* warp, unsigned lane) {
    Counts counts{0, 0, 32, 64, 0, 0};
    for (int b = 63; b >= 0; --b) {
      if ((warp[lane] >> b & 1) == 0) continue;
      if (counts.zeros_long == 64) counts.zeros_long = 63 - b;
      ++counts.set_long;
      counts.first_long = b + 1;
      if (b > 31) continue;
      if (counts.zeros == 32) counts.zeros = 31 - b;
      ++counts.set;
      counts.first = b + 1;
    }
    return counts;
  });
  CHECK((of_block(count_bits, in) == want));
}

}  // namespace
}  // namespace sparsecoll::cuda_test
