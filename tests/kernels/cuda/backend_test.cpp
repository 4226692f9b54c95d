// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests the memory of a device backend and the copies of counts to the host.

#include "kernels/cuda/values.hpp"
#include "support/catch.hpp"

namespace sparsecoll::cuda_test {
namespace {

using FloatPlace = DeviceBackend<float, uint32_t, DataType::float32>;

TEST_CASE("read brings any number of counts") {
  FloatPlace device;
  for (const size_t n : {0, 1, 1023, 1024, 1025, 2048, 5000}) {
    INFO("n = " << n);
    std::vector<uint64_t> want;
    for (size_t j = 0; j < n; ++j) want.push_back(test::noise(1, j));
    const uint64_t* const from = device.upload(want);
    std::vector<uint64_t> got(n + 1, 77);
    device.kernels().read(from, n, got.data());
    want.push_back(77);
    CHECK(got == want);
  }
}

TEST_CASE("counts start from zero, though the memory was used before") {
  FloatPlace device;
  for (int round = 0; round < 3; ++round) {
    const Arena::Scope scope(device.backend().arena());
    uint64_t* const counts = device.kernels().counts(1500);
    std::vector<uint64_t> got(1500, 77);
    device.kernels().read(counts, 1500, got.data());
    CHECK(got == std::vector<uint64_t>(1500));
    device.kernels().set_count(counts + 3, ~uint64_t{0});
    CHECK(device.kernels().read(counts + 3) == ~uint64_t{0});
    CHECK(device.kernels().read(counts + 2) == 0);
    device.kernels().scale(counts, 3000, 0);
  }
}

TEST_CASE("what is queued may leave the workspace before it runs") {
  FloatPlace device;
  const std::vector<float> values = values_of<float>(test::Kind::kHeavyTail, 1000, 1);
  float* const x = device.upload(values);
  const float* const y = device.upload(values);
  const std::vector<const void*> arrived(300, y);
  std::vector<float> want = values;
  unit::Backend<float, uint32_t> host;
  const std::vector<const void*> from(300, values.data());
  for (int round = 0; round < 3; ++round) {
    // The array of addresses is at the same address in every call.
    device.kernels().push_sum_update({{}, arrived, nullptr, 1}, 1000, x, nullptr);
    host.kernels().push_sum_update({{}, from, nullptr, 1}, 1000, want.data(), nullptr);
  }
  CHECK(test::difference("x", device.download<float>(x, 1000), want) == "");
}

/// Makes calls of every kind, with and without workspace.
void call(FloatPlace& device, float* x, const float* y, size_t n) {
  const Arena::Scope scope(device.backend().arena());
  Kernels& kernels = device.kernels();
  const SparseBuffer selected = kernels.sparse(n / 10), out = kernels.sparse(n / 10);
  const std::vector<double> shares{0.5};
  const std::vector<const void*> arrived{y, y};
  uint64_t* const bad = kernels.counts(1);
  float* const next = reinterpret_cast<float*>(kernels.bytes(n * sizeof(float)));
  for (const size_t from : {size_t{0}, n + 1}) {  // filtered, and directly
    device.backend().tuning().filter_from = from;
    kernels.accumulate_select({y, n, {x, next}}, n / 10, selected);
    kernels.accumulate_above({y, n, {x, next}}, key_of(1e30f), out);
  }
  kernels.put_back({selected.span(), selected.span(), selected.span()}, x);
  kernels.deliver(selected.span(), 3, out);
  kernels.check_indices(out.span(), {0, n}, bad);
  kernels.push_sum_update({shares, arrived, y, 0.5}, n, x, nullptr);
  const std::vector<SparseSpan> inputs(40, selected.span());
  kernels.merge(inputs, kernels.sparse(n));
  const Region regions[] = {{0, n / 2}, {n / 2, n}};
  const Packets packets = kernels.packets(n / 10, regions);
  kernels.pack_all(selected.span(), regions, packets);
  uint64_t offset = 0;
  kernels.read(packets.offset, 1, &offset);
  const Message message{{packets.slab + offset, packets.capacity - offset}, regions[0]};
  kernels.unpack_all({&message, 1}, {&out, 1}, kernels.counts(1));
  CHECK(kernels.read(bad) == n / 10);
}

TEST_CASE("the second call of a shape allocates nothing") {
  constexpr size_t kCount = 20000;
  FloatPlace device;
  const std::vector<float> values = values_of<float>(test::Kind::kHeavyTail, kCount, 1);
  float* const x = device.upload(values);
  const float* const y = device.upload(values);
  call(device, x, y, kCount);
  const size_t after_first = device.backend().memory().allocations();
  for (int round = 0; round < 3; ++round) call(device, x, y, kCount);
  CHECK(device.backend().memory().allocations() == after_first);
}

TEST_CASE("memory that runs out is told, and more can be had afterwards") {
  FloatPlace device;
  CHECK_THROWS_AS(device.kernels().bytes(size_t{1} << 50), std::bad_alloc);
  const std::vector<uint64_t> want{1, 2, 3};
  CHECK(device.download<uint64_t>(device.upload(want), 3) == want);
}

}  // namespace
}  // namespace sparsecoll::cuda_test
