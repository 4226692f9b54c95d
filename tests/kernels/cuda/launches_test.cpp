// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests how many launches each call takes, on the emulator, which counts them.

#include "engine.hpp"
#include "kernels/cuda/values.hpp"
#include "support/catch.hpp"

namespace sparsecoll::cuda_test {
namespace {

using FloatPlace = DeviceBackend<float, uint32_t, DataType::float32>;

/// Counts the launches of calls that choose their algorithm by the data on the device.
std::vector<size_t> launches_of_choices(test::Kind kind, uint64_t seed) {
  constexpr size_t kCount = 3000, kKept = 100;
  FloatPlace device;
  Kernels& kernels = device.kernels();
  float* const x = device.upload(values_of<float>(kind, kCount, seed));
  float* const next = device.upload(values_of<float>(kind, kCount, seed));
  SparseSpan sparse = device.put(entries_of<float>(kind, kCount, seed));
  sparse.nnz.bound = kCount;
  const SparseBuffer out = kernels.sparse(kKept), all = kernels.sparse(9 * kCount);
  const std::vector<SparseSpan> inputs(9, sparse);
  const Region regions[] = {{0, kCount / 2}, {kCount / 2, kCount}};
  const Packets packets = kernels.packets(kCount, regions);
  uint64_t* const bins = kernels.counts(100);
  std::vector<size_t> launches;
  const auto count = [&](const auto& call) {
    const size_t before = simt::launches();
    call();
    launches.push_back(simt::launches() - before);
  };
  for (const size_t from : {kCount + 1, size_t{0}}) {
    device.backend().tuning().filter_from = from;
    count([&] { kernels.accumulate_select({x, kCount, {x, next}}, kKept, out); });
    count([&] { kernels.accumulate_above({x, kCount, {x, next}}, key_of(1.0f), out); });
  }
  count([&] { kernels.top_k(sparse, kKept, out, {}); });
  count([&] { kernels.select_above(sparse, {1, 5}, all); });
  count([&] { kernels.merge(inputs, all); });
  count([&] { kernels.concatenate(inputs, all); });
  count([&] { kernels.pack_all(sparse, regions, packets); });
  const Message message{{packets.slab + kHeadroom, packets.capacity - kHeadroom}, regions[0]};
  count([&] { kernels.unpack_all({&message, 1}, {&all, 1}, kernels.counts(1)); });
  count([&] { kernels.least_key(sparse, bins); });
  count([&] { kernels.key_histogram(sparse, {1, 24, 99}, bins); });
  count([&] { kernels.index_histogram(sparse, kCount / 50, bins); });
  return launches;
}

/// Counts the launches of feedback, push-sum and elementwise calls.
std::vector<size_t> launches_of(test::Kind kind, uint64_t seed) {
  constexpr size_t kCount = 1000;
  FloatPlace device;
  Kernels& kernels = device.kernels();
  SparseSpan sparse = device.put(entries_of<float>(kind, kCount, seed));
  SparseSpan other = device.put(entries_of<float>(kind, kCount, seed + 1));
  sparse.nnz.bound = other.nnz.bound = kCount;
  float* const x = device.upload(values_of<float>(kind, kCount, seed));
  float* const y = device.upload(values_of<float>(kind, kCount, seed));
  const SparseBuffer out = kernels.sparse(kCount);
  uint64_t* const bad = kernels.counts(1);
  const std::vector<double> shares{0.1, 0.2, 0.3};
  const std::vector<const void*> arrived{y, y};
  std::vector<size_t> launches;
  const auto count = [&](const auto& call) {
    const size_t before = simt::launches();
    call();
    launches.push_back(simt::launches() - before);
  };
  count([&] { kernels.put_back({sparse, other, other}, x); });
  count([&] { kernels.deliver(sparse, 2, out); });
  count([&] { kernels.scatter(sparse, 2, {0, kCount}, x); });
  count([&] { kernels.check_indices(sparse, {0, kCount}, bad); });
  count([&] { kernels.accumulate({y, kCount, {x, nullptr}}, x); });
  count([&] { kernels.scale(x, kCount, 0.5); });
  count([&] { kernels.copy_canonical(x, kCount, y); });
  count([&] { kernels.push_sum_share(x, kCount, 0.5, y); });
  count([&] { kernels.push_sum_add_change(sparse, -1, y); });
  count([&] { kernels.push_sum_mix(x, kCount, 0.5, y); });
  count([&] { kernels.push_sum_update({shares, arrived, y, 0.5}, kCount, x, y); });
  return launches;
}

TEST_CASE("how many launches a call takes does not depend on the data") {
  const std::vector<size_t> want{2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2};
  const std::vector<size_t> choices = launches_of_choices(test::Kind::kHeavyTail, 1);
  for (const test::Kind kind : unit::kDenseKinds) {
    for (const uint64_t seed : {1, 2}) {
      CHECK(launches_of(kind, seed) == want);
      CHECK(launches_of_choices(kind, seed) == choices);
    }
  }
}

TEST_CASE("the host has the sizes and the first messages while others are still to be written") {
  FloatPlace device(MessageLocation::on_host);
  device.backend().tuning().chunk = 4096;
  Kernels& kernels = device.kernels();
  const SparseSpan sparse = device.put(entries_of<float>(test::Kind::kHeavyTail, 30000, 1));
  const Region regions[] = {{15000, 30000}, {0, 15000}};
  const Packets packets = kernels.packets(sparse.nnz.bound, regions);
  constexpr std::byte kPoison{0xee};
  std::fill_n(packets.slab, packets.capacity, kPoison);
  kernels.pack_all(sparse, regions, packets);
  uint64_t backend[4];
  kernels.read(packets.offset, 4, backend);
  const std::byte* const first = packets.slab + backend[0];
  const std::byte* const last = packets.slab + backend[1] + backend[3] - 1;
  CHECK(*first == kPoison);
  kernels.wait_packed(first + backend[2]);
  CHECK(*first != kPoison);
  CHECK(*last == kPoison);
  kernels.wait_packed(last + 1);
  CHECK(*last != kPoison);
}

}  // namespace
}  // namespace sparsecoll::cuda_test
