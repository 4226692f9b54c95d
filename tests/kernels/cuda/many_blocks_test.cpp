// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests vectors so long that a launch has more blocks than a block has threads. When a block adds
// up the results of other blocks, each of its threads then reads several. Run with
// SIMT_MULTIPROCESSORS=100.

#include "kernels/cuda/arrived.hpp"
#include "kernels/cuda/select_input.hpp"
#include "support/catch.hpp"

namespace sparsecoll::cuda_test {
namespace {

TEST_CASE("hundreds of blocks select what the host selects") {
  const size_t n = 600001, k = n / 20;
  Pair<float, uint32_t, DataType::float32> pair;
  const Input<float> input = input_of<float>(test::Kind::kHeavyTail, n, 3);
  const SparseBuffer host = pair.host.kernels().sparse(k), device = pair.device.kernels().sparse(k);
  pair.host.kernels().accumulate_select({input.values.data(), n, {}}, k, host);
  pair.device.kernels().accumulate_select({pair.device.upload(input.values), n, {}}, k, device);
  CHECK(test::difference("selected", pair.device.get(device), pair.host.get(host)) == "");
}

TEST_CASE("hundreds of blocks add up what the host adds up") {
  Pair<float, uint32_t, DataType::float32> pair;
  std::vector<SparseSpan> ours, theirs;
  size_t most = 0;
  for (const uint64_t p : {1, 2, 3}) {
    const auto entries = unit::sparse_of<float>(test::Kind::kHeavyTail, 200000, p, 3);
    ours.push_back(pair.host.put(entries));
    theirs.push_back(pair.device.put(entries));
    most += entries.size();
  }
  const SparseBuffer host = pair.host.kernels().sparse(most);
  const SparseBuffer device = pair.device.kernels().sparse(most);
  pair.host.kernels().merge(ours, host);
  pair.device.kernels().merge(theirs, device);
  CHECK(test::difference("sum", pair.device.get(device), pair.host.get(host)) == "");
}

TEST_CASE("hundreds of blocks share a message") {
  for (const uint64_t gap : {3, 200}) {  // coded and bitmap
    Entries<float> entries;
    for (uint64_t j = 0; j < 500000; ++j)
      entries.push_back({j * gap + test::noise(j, gap) % gap, static_cast<float>(j)});
    const Region region{0, 500000 * gap};
    const auto messages = unit::pack<float, uint32_t, DataType::float32>(entries, {region});
    CHECK(check_unpack<float, uint32_t>({{messages[0], messages[0].size(), region, entries.size()}},
                                        0) == "");
  }
}

}  // namespace
}  // namespace sparsecoll::cuda_test
