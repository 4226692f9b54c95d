// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// More than 2^31 elements, on a device only: selection with and without feedback against the
// host's, and the same call again.

#include "cuda/device_place.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"

namespace sparsecoll::cuda_test {
namespace {

constexpr size_t kLength = (size_t{1} << 31) + 17;
constexpr size_t kKept = kLength / 1000;

/// Two values only, so that nearly all selected ones are ties, or many different ones.
std::vector<Bfloat16> gradient_of(bool two_values) {
  std::vector<Bfloat16> values(kLength);
  for (size_t i = 0; i < kLength; ++i) {
    const uint64_t h = test::noise(i, 5);
    const auto wide = static_cast<float>(h % 1000 < 3 ? 2 : 1);
    values[i] = narrow<Bfloat16>(two_values ? wide : wide * static_cast<float>(h >> 40) * 0x1p-24f);
  }
  return values;
}

std::string check_large(bool two_values, bool feedback) {
  Pair<float, uint32_t, DataType::bfloat16> pair;
  const std::vector<Bfloat16> values = gradient_of(two_values);
  std::vector<float> previous(feedback ? kLength : 0, 0.125f), want(previous.size());
  const SparseBuffer host = pair.host.kernels().sparse(kKept);
  const SparseBuffer device = pair.device.kernels().sparse(kKept);
  ResidualView ours, theirs;
  float* const next = pair.device.upload(want);
  if (feedback) {
    ours = {previous.data(), want.data()};
    theirs = {pair.device.upload(previous), next};
  }
  const Bfloat16* const given = pair.device.upload(values);
  pair.host.kernels().accumulate_select({values.data(), kLength, ours}, kKept, host);
  for (int run = 0; run < 2; ++run) {
    pair.device.kernels().accumulate_select({given, kLength, theirs}, kKept, device);
    std::string differs =
        test::difference("selected", pair.device.get(device), pair.host.get(host));
    if (differs.empty() && feedback)
      differs = test::difference("residual", pair.device.download<float>(next, kLength), want);
    if (!differs.empty()) return differs + " in run " + std::to_string(run);
  }
  return "";
}

TEST_CASE("more than 2^31 elements") {
  constexpr size_t kNeeded = size_t{28} << 30;  // the workspace takes a quarter more than asked for
  size_t there = 0, all = 0;
  cuda::check(cudaMemGetInfo(&there, &all), "cudaMemGetInfo");
  if (there < kNeeded) {
    WARN("not run: 28 GiB of the device's memory are needed, " << (there >> 30) << " are free");
    return;
  }
  for (const bool two_values : {true, false})
    for (const bool feedback : {true, false}) CHECK(check_large(two_values, feedback) == "");
}

}  // namespace
}  // namespace sparsecoll::cuda_test
