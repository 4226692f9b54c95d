// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests atomics and block sums of the emulator against plain loops.

#include <cub/block/block_scan.cuh>
#include <numeric>

#include "kernels/cuda/simt_block.hpp"
#include "support/catch.hpp"

namespace sparsecoll::cuda_test {
namespace {

struct Totals {
  unsigned sum;
  unsigned long long bits;
  int most, least;
  unsigned taken;                ///< the thread that was first
  unsigned last;                 ///< the last value exchanged
  unsigned long long exchanged;  ///< sum of the values that all exchanges returned
};
__global__ void add_up(const int* in, Totals* out) {
  const int own = in[threadIdx.x];
  atomicAdd(&out->sum, threadIdx.x);
  atomicOr(&out->bits, 1ull << threadIdx.x % 50);
  atomicMax(&out->most, own);
  atomicMin(&out->least, own);
  atomicCAS(&out->taken, 0, threadIdx.x + 1);
  atomicAdd(&out->exchanged, atomicExch(&out->last, threadIdx.x + 1));
}

TEST_CASE("atomics lose nothing, over many blocks") {
  const std::vector<int> in = some<int>(7, 100000);
  void *from = nullptr, *to = nullptr;
  cudaMalloc(&from, kThreads * sizeof(int));
  cudaMalloc(&to, sizeof(Totals));
  cudaMemcpy(from, in.data(), kThreads * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(to, 0, sizeof(Totals));
  constexpr unsigned kBlocks = 20, kOfBlock = kThreads * (kThreads - 1) / 2;
  const cuda::Backend backend(nullptr);
  cuda::launch(backend, kBlocks, add_up, static_cast<const int*>(from), static_cast<Totals*>(to));
  Totals totals{};
  cudaMemcpy(&totals, to, sizeof totals, cudaMemcpyDeviceToHost);
  CHECK(totals.sum == kBlocks * kOfBlock);
  CHECK(totals.bits == (1ull << 50) - 1);
  CHECK(totals.most == *std::max_element(in.begin(), in.end()));
  CHECK(totals.least == *std::min_element(in.begin(), in.end()));
  CHECK((totals.taken >= 1 && totals.taken <= kThreads));
  CHECK(totals.exchanged + totals.last == kBlocks * (kOfBlock + kThreads));
  cudaFree(from);
  cudaFree(to);
}

template <class V>
struct Scanned {
  V before, all, again;
  bool operator==(const Scanned&) const = default;
};
template <class V>
__global__ void scan(const V* in, Scanned<V>* out) {
  using Scan = cub::BlockScan<V, static_cast<int>(kThreads)>;
  __shared__ typename Scan::TempStorage storage;
  Scanned<V> scanned{};
  Scan(storage).ExclusiveSum(in[threadIdx.x], scanned.before, scanned.all);
  __syncthreads();
  Scan(storage).ExclusiveSum(scanned.before, scanned.again);
  out[threadIdx.x] = scanned;
}
template <class V>
void check_scan() {
  const std::vector<V> in = some<V>(8, 1000);
  std::vector<Scanned<V>> want;
  V before{}, again{};
  for (const V value : in) {
    want.push_back({before, std::accumulate(in.begin(), in.end(), V{}), again});
    again = static_cast<V>(again + before);
    before = static_cast<V>(before + value);
  }
  CHECK((of_block(scan<V>, in) == want));
}

TEST_CASE("cub::BlockScan sums what comes before") {
  check_scan<int>();
  check_scan<unsigned>();
  check_scan<uint64_t>();
}

}  // namespace
}  // namespace sparsecoll::cuda_test
