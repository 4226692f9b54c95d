// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests what all kernels use: launches, arrays in launch parameters, shares, and sums over a block.

#include <numeric>

#include "engine.hpp"
#include "kernels/cuda/block.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/values.hpp"
#include "support/catch.hpp"

namespace sparsecoll::cuda_test {
namespace {

using FloatPlace = DeviceBackend<float, uint32_t, DataType::float32>;

// --- launch.cuh: launches

struct Count1 {
  unsigned* seen;
  __device__ void operator()(size_t i) const { atomicAdd(&seen[i], 1); }
};

TEST_CASE("for_each comes to every item once, as many as the device says") {
  for (const size_t n : {0, 1, 255, 1023, 1024, 1025, 30000}) {
    INFO("n = " << n);
    FloatPlace device;
    unsigned* const seen = device.upload(std::vector<unsigned>(n + 9));
    uint64_t* const count = device.kernels().counts(1);
    device.kernels().set_count(count, n);
    cuda::for_each(device.backend(), {count, n + 9}, Count1{seen});
    cuda::for_each(device.backend(), {nullptr, n}, Count1{seen});
    std::vector<unsigned> want(n + 9);
    std::fill_n(want.begin(), n, 2u);
    CHECK(device.download<unsigned>(seen, n + 9) == want);
  }
}

__global__ void say_how_many(unsigned* blocks) {
  if (threadIdx.x == 0) blocks[blockIdx.x] = gridDim.x;
}

TEST_CASE("launch_cooperative takes as many blocks as run at once, and at least one") {
  FloatPlace device;
  const auto most =
      static_cast<unsigned>(cuda::kResidentBlocks * device.backend().multiprocessors());
  unsigned* const blocks = device.upload(std::vector<unsigned>(most));
  for (const unsigned wanted : {0u, 1u, 2u, most, most + 1, 100000u}) {
    cuda::launch_cooperative(device.backend(), wanted, say_how_many, blocks);
    CHECK(device.download<unsigned>(blocks, 1)[0] == std::clamp(wanted, 1u, most));
  }
}

TEST_CASE("a launch that is refused is reported") {
  const FloatPlace device;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(2000);
  CHECK_THROWS_AS(cuda::launch_as(config, say_how_many, static_cast<unsigned*>(nullptr)),
                  sparsecoll::Error);
}

// --- launch.cuh: arrays in parameters

struct Row {
  uint64_t number;
  uint32_t half;
};

TEST_CASE("a table has every row, in as many launches as it takes") {
  for (const size_t n : {0, 1, 239, 240, 241, 480, 1000}) {
    INFO("n = " << n);
    FloatPlace device;
    const size_t before = simt::launches();
    const Row* const rows = cuda::upload_array<Row>(device.backend(), n, [](size_t p) {
      return Row{p * p, static_cast<uint32_t>(p / 2)};
    });
    CHECK(simt::launches() - before == (n + 239) / 240);
    const std::vector<Row> got = device.download<Row>(rows, n);
    for (size_t p = 0; p < n; ++p) {
      CHECK(got[p].number == p * p);
      CHECK(got[p].half == p / 2);
    }
  }
}

// --- block.cuh

__global__ void mark_shares(size_t n, unsigned* of_warp, unsigned* of_block) {
  const cuda::Share warp = cuda::share_of_warp(n), block = cuda::share_of_block(n);
  const unsigned number = blockIdx.x * cuda::kWarps + threadIdx.x / 32;
  if (threadIdx.x % 32 == 0)
    for (size_t i = warp.begin; i < warp.end; ++i) atomicAdd(&of_warp[i], number + 1);
  if (threadIdx.x == 0)
    for (size_t i = block.begin; i < block.end; ++i) atomicAdd(&of_block[i], blockIdx.x + 1);
}

TEST_CASE("shares of warps and blocks cover everything once, in order, and about equally") {
  for (const size_t n : {0, 1, 7, 8, 9, 23, 24, 25, 1000}) {
    for (const unsigned blocks : {1, 3}) {
      INFO("n = " << n << ", " << blocks << " blocks");
      FloatPlace device;
      unsigned* const of_warp = device.upload(std::vector<unsigned>(n));
      unsigned* const of_block = device.upload(std::vector<unsigned>(n));
      cuda::launch(device.backend(), blocks, mark_shares, n, of_warp, of_block);
      const auto warps = device.download<unsigned>(of_warp, n);
      const auto owners = device.download<unsigned>(of_block, n);
      std::vector<size_t> has(blocks * cuda::kWarps);
      for (size_t i = 0; i < n; ++i) {
        CHECK((warps[i] >= 1 && warps[i] <= has.size()));
        CHECK((i == 0 || warps[i - 1] <= warps[i]));
        CHECK(owners[i] == (warps[i] - 1) / cuda::kWarps + 1);
        ++has[warps[i] - 1];
      }
      const auto [least, most] = std::minmax_element(has.begin(), has.end());
      CHECK(*most - *least <= 1);
    }
  }
}

struct Sums {
  uint64_t before, all, again, of_blocks;
};
__global__ void sum_up(const uint64_t* in, unsigned block, Sums* out) {
  __shared__ typename cuda::BlockSum<uint64_t>::Storage storage;
  cuda::BlockSum<uint64_t> sum(storage);
  Sums sums{};
  sums.before = sum.before(in[threadIdx.x], &sums.all);
  sums.again = sum.before(sums.before, &sums.all);
  sum.before(in[threadIdx.x], &sums.all);
  sums.of_blocks = cuda::sum_before(in, block, sum);
  out[threadIdx.x] = sums;
}

TEST_CASE("sums of a block are used one after another") {
  FloatPlace device;
  std::vector<uint64_t> in;
  for (size_t b = 0; b < 1000; ++b) in.push_back(test::noise(1, b));
  const uint64_t* const from = device.upload(in);
  Sums* const to = device.upload(std::vector<Sums>(cuda::kThreads));
  for (const unsigned block : {0u, 1u, 255u, 256u, 257u, 1000u}) {
    INFO("block " << block);
    cuda::launch(device.backend(), 1, sum_up, from, block, to);
    const std::vector<Sums> got = device.download<Sums>(to, cuda::kThreads);
    const uint64_t all = std::accumulate(in.begin(), in.begin() + cuda::kThreads, uint64_t{0});
    const uint64_t of_blocks = std::accumulate(in.begin(), in.begin() + block, uint64_t{0});
    uint64_t before = 0, again = 0;
    for (unsigned t = 0; t < cuda::kThreads; ++t) {
      CHECK(got[t].before == before);
      CHECK(got[t].again == again);
      CHECK(got[t].all == all);
      CHECK(got[t].of_blocks == of_blocks);
      again += before;
      before += in[t];
    }
  }
}

template <class I>
__global__ void find(const I* index, size_t n, size_t* at) {
  for (size_t limit = threadIdx.x; limit <= 3 * n + 3; limit += cuda::kThreads)
    at[limit] = cuda::lower_bound(index, n, limit);
}

TEMPLATE_TEST_CASE("lower_bound counts what is below", "", uint32_t, uint64_t) {
  for (const size_t n : {0, 1, 2, 3, 100, 128}) {
    INFO("n = " << n);
    FloatPlace device;
    std::vector<TestType> index;
    for (size_t j = 0; j < n; ++j) index.push_back(static_cast<TestType>(3 * j + 1));
    size_t* const at = device.upload(std::vector<size_t>(3 * n + 4));
    cuda::launch(device.backend(), 1, find<TestType>,
                 static_cast<const TestType*>(device.upload(index)), n, at);
    const auto got = device.download<size_t>(at, 3 * n + 4);
    for (size_t limit = 0; limit < got.size(); ++limit)
      CHECK(got[limit] == std::min((limit + 1) / 3, n));
  }
}

}  // namespace
}  // namespace sparsecoll::cuda_test
