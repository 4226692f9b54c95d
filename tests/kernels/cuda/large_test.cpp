// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests vectors of more than 2^31 and 2^32 elements, on a device only: selection with and without
// feedback against the host, twice, and results. The values of results repeat, so the host can
// check them quickly.

#include <numeric>

#include "kernels/cuda/large_values.hpp"
#include "support/catch.hpp"

namespace sparsecoll::cuda_test {
namespace {

constexpr size_t kLength = (size_t{1} << 31) + 17;
constexpr size_t kKept = kLength / 1000;

/// Returns either two distinct values, so that nearly all selected ones are ties, or many.
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

/// Returns whether the device has that much free memory. The workspace takes a quarter more than
/// requested.
bool has_room(size_t gibibytes) {
  size_t there = 0, all = 0;
  cuda::check(cudaMemGetInfo(&there, &all), "cudaMemGetInfo");
  if (test::small_run()) {
    WARN("not run with small inputs");
    return false;
  }
  if (there >> 30 >= gibibytes) return true;
  WARN("not run: " << gibibytes << " GiB of the device's memory are needed, " << (there >> 30)
                   << " are free");
  return false;
}

TEST_CASE("selection from more than 2^31 elements") {
  if (!has_room(28)) return;
  for (const bool two_values : {true, false})
    for (const bool feedback : {true, false}) CHECK(check_large(two_values, feedback) == "");
}

// --- results

/// Returns indices spread over the vector, and consecutive ones around 2^31, 2^32 and at the end.
std::vector<uint64_t> spread_indices() {
  std::vector<uint64_t> all;
  for (uint64_t i = 0; i < kWide; i += 1 + test::noise(1, i) % 20000) all.push_back(i);
  for (const uint64_t border : {kWide / 2, kWide - 17, kWide})
    for (uint64_t i = border - 40; i < std::min(border + 40, kWide); ++i) all.push_back(i);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

/// Returns entries with the values of `period` at those indices.
Entries<float> entries_at(const std::vector<uint64_t>& indices, const std::vector<float>& period) {
  Entries<float> entries;
  for (const uint64_t i : indices) entries.push_back({i, period[i % kPeriod]});
  return entries;
}

SparseSpan dense(LargePlace& device, const float* values, size_t n) {
  uint64_t* const count = device.kernels().counts(1);
  device.kernels().set_count(count, n);
  return {nullptr, values, {n, count}};
}

std::vector<Bfloat16> result_value(const std::vector<float>& values, int divisor) {
  std::vector<Bfloat16> all;
  for (const float value : values)
    all.push_back(sparsecoll::result_value<Bfloat16>(value, divisor));
  return all;
}

TEST_CASE("more than 2^32 values are copied, scaled and cleared") {
  if (!has_room(42)) return;
  LargePair pair;
  std::vector<float> period = period_of(1);
  const float* const from = repeat(pair.device, period, kWide);
  float* const to = pair.device.backend().arena().take<float>(kWide);
  Kernels& kernels = pair.device.kernels();
  kernels.copy_canonical(from + 1, kWide - 1, to);  // unaligned
  CHECK(difference(pair.device, to, kWide - 1, rotated(period, 1)) == "");
  kernels.copy_canonical(from, kWide, to);
  CHECK(difference(pair.device, to, kWide, period) == "");
  kernels.scale(to, kWide, 0.3);
  pair.host.kernels().scale(period.data(), kPeriod, 0.3);
  CHECK(difference(pair.device, to, kWide, period) == "");
  kernels.zero(to, kWide);
  CHECK(difference(pair.device, to, kWide, std::vector<float>(kPeriod)) == "");
}

TEST_CASE("dense inputs of more than 2^32 values are added") {
  if (!has_room(42)) return;
  LargePair pair;
  const std::vector<float> period = period_of(2);
  const float* const from = repeat(pair.device, period, kWide + 2);
  float* const sum = pair.device.backend().arena().take<float>(kWide);
  std::vector<float> want(kPeriod);
  uint64_t nnz = 0, *const count = pair.device.kernels().counts(1);
  std::vector<SparseSpan> ours, theirs;
  for (const size_t by : {0, 1, 2}) {
    ours.push_back(pair.host.put_dense(rotated(period, by)));
    theirs.push_back(dense(pair.device, from + by, kWide));
  }
  pair.host.kernels().merge(ours, {nullptr, want.data(), &nnz, kPeriod});
  pair.device.kernels().merge(theirs, {nullptr, sum, count, kWide});
  CHECK(pair.device.kernels().read(count) == kWide);
  CHECK(difference(pair.device, sum, kWide, want) == "");
}

TEST_CASE("entries and values are scattered over more than 2^32 values") {
  if (!has_room(32)) return;
  LargePair pair;
  const std::vector<float> period = period_of(3);
  const Entries<float> entries = entries_at(spread_indices(), period);
  Bfloat16* const out = pair.device.backend().arena().take<Bfloat16>(kWide);
  Entries<Bfloat16> want;
  for (const auto& [index, value] : entries)
    want.push_back({index, sparsecoll::result_value<Bfloat16>(value, 3)});
  pair.device.kernels().scatter(pair.device.put(entries), 3, {0, kWide}, out);
  CHECK(difference(pair.device, out, kWide, std::vector<Bfloat16>(kPeriod), want) == "");
  const SparseSpan all = dense(pair.device, repeat(pair.device, period, kWide), kWide);
  pair.device.kernels().scatter(all, 3, {0, kWide}, out);
  CHECK(difference(pair.device, out, kWide, result_value(period, 3)) == "");
}

TEST_CASE("more than 2^31 entries are delivered") {
  if (!has_room(37)) return;
  LargePair pair;
  const std::vector<float> period = period_of(4);
  const SparseSpan in = dense(pair.device, repeat(pair.device, period, kLength), kLength);
  const SparseBuffer out = pair.device.kernels().sparse(kLength);
  pair.device.kernels().deliver(in, 3, out);
  CHECK(pair.device.kernels().read(out.nnz) == kLength);
  const auto* const value = static_cast<const Bfloat16*>(out.value);
  CHECK(difference(pair.device, value, kLength, result_value(period, 3)) == "");
  std::vector<uint64_t> index(kPeriod), want(kPeriod);
  for (size_t begin = 0; begin < kLength; begin += kPeriod) {
    const size_t part = std::min(kLength - begin, kPeriod);
    index.resize(part);
    want.resize(part);
    std::iota(want.begin(), want.end(), begin);
    copy(pair.device, index.data(), static_cast<const uint64_t*>(out.index) + begin, part,
         cudaMemcpyDeviceToHost);
    CHECK(index == want);
  }
}

TEST_CASE("entries go back to a residual of more than 2^32 values") {
  if (!has_room(21)) return;
  LargePair pair;
  const std::vector<float> period = period_of(5);
  const std::vector<uint64_t> indices = spread_indices();
  const Entries<float> sent = entries_at(indices, period_of(6));
  const Entries<float> dropped = entries_at(indices, period_of(7));
  Entries<float> delivered, want;
  for (size_t j = 0; j < indices.size(); ++j) {
    const bool arrived = j % 2 == 0;
    if (arrived) delivered.push_back(sent[j]);
    const float before = period[indices[j] % kPeriod];
    want.push_back({indices[j], before + (arrived ? dropped : sent)[j].value});
  }
  float* const residual = repeat(pair.device, period, kWide);
  pair.device.kernels().put_back(
      {pair.device.put(sent), pair.device.put(delivered), pair.device.put(dropped)}, residual);
  CHECK(difference(pair.device, residual, kWide, period, want) == "");
}

}  // namespace
}  // namespace sparsecoll::cuda_test
