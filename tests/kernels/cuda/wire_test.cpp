// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests that messages made on the device are those of the host, byte for byte.

#include "kernels/cuda/device_backend.hpp"
#include "kernels/messages.hpp"
#include "kernels/naive.hpp"
#include "support/catch.hpp"

namespace sparsecoll::cuda_test {
namespace {

using test::noise;
using unit::MessageBytes;
using unit::WireCase;

constexpr uint64_t k2to32 = uint64_t{1} << 32;

/// A sparse vector and how it is cut.
template <class Acc>
struct Cut {
  Entries<Acc> entries;
  std::vector<Region> regions;
};

/// Returns what pack_all() of `kernels` wrote. read(at, n) copies to the host.
template <class Read>
std::vector<MessageBytes> messages_of(Kernels& kernels, const Packets& packets, size_t n,
                                      const Read& read) {
  std::vector<uint64_t> offset(n), size(n);
  kernels.read(packets.offset, n, offset.data());
  kernels.read(packets.size, n, size.data());
  std::vector<MessageBytes> messages;
  uint64_t end = 0;
  for (size_t p = 0; p < n; ++p) {
    // The offset is part of what is compared.
    if (offset[p] < end + kHeadroom || offset[p] + size[p] > packets.capacity) return {};
    end = offset[p] + size[p];
    messages.push_back(read(packets.slab + offset[p], size[p]));
  }
  return messages;
}

std::string compare(const std::vector<MessageBytes>& got, const std::vector<MessageBytes>& want) {
  if (got.size() != want.size()) return "offsets or sizes that are impossible";
  for (size_t p = 0; p < want.size(); ++p) {
    if (got[p] == want[p]) continue;
    const auto differs =
        std::mismatch(got[p].begin(), got[p].end(), want[p].begin(), want[p].end());
    return "message " + std::to_string(p) + " of " + std::to_string(got[p].size()) +
           " bytes, not " + std::to_string(want[p].size()) + ", differs at " +
           std::to_string(differs.first - got[p].begin());
  }
  return "";
}

/// Checks that both backends pack the same messages. `dense`: the vector has no index array.
template <class T, class I>
std::string check_pack(const Cut<Accumulation<T>>& cut, Precision precision, bool dense = false) {
  using Acc = Accumulation<T>;
  const size_t nnz = cut.entries.size(), n = cut.regions.size();
  Pair<Acc, I, data_type_of<T>()> pair;
  SparseSpan ours = pair.host.put(cut.entries), theirs = pair.device.put(cut.entries);
  // Vectors have the smallest alignment that is allowed.
  theirs.index = pair.device.upload(pair.device.template download<I>(theirs.index, nnz), sizeof(I));
  theirs.value =
      pair.device.upload(pair.device.template download<Acc>(theirs.value, nnz), sizeof(Acc));
  if (dense) ours.index = theirs.index = nullptr;
  ours.precision = theirs.precision = precision;
  if (precision == Precision::int8)
    for (Kernels* kernels : {&pair.host.kernels(), &pair.device.kernels()})
      kernels->set_scale_bits(7);
  const Packets host = pair.host.kernels().packets(nnz, cut.regions, precision);
  const Packets device = pair.device.kernels().packets(nnz, cut.regions, precision);
  pair.host.kernels().pack_all(ours, cut.regions, host);
  pair.host.kernels().wait_packed(host.slab + host.capacity);
  pair.device.kernels().pack_all(theirs, cut.regions, device);
  std::vector<uint64_t> offset(n);
  pair.device.kernels().read(device.offset, n, offset.data());
  if (!std::equal(offset.begin(), offset.end(), host.offset)) return "other offsets";
  return compare(messages_of(pair.device.kernels(), device, n,
                             [&](const std::byte* at, size_t size) {
                               return pair.device.template download<std::byte>(at, size);
                             }),
                 messages_of(pair.host.kernels(), host, n, [](const std::byte* at, size_t size) {
                   return MessageBytes(at, at + size);
                 }));
}

/// Runs the check for all types whose indices reach far enough; `of(Acc{})` gives the cut.
template <class Make>
std::string check_types(const Make& of, bool wide) {
  std::string wrong = check_pack<double, uint64_t>(of(double{}), Precision::accumulated);
  if (wrong.empty()) wrong = check_pack<Float16, uint64_t>(of(float{}), Precision::stored);
  if (wrong.empty()) wrong = check_pack<Bfloat16, uint64_t>(of(float{}), Precision::accumulated);
  if (wrong.empty()) wrong = check_pack<double, uint64_t>(of(double{}), Precision::bfloat16);
  if (wrong.empty()) wrong = check_pack<Float16, uint64_t>(of(float{}), Precision::bfloat16);
  if (wide || !wrong.empty()) return wrong;
  wrong = check_pack<float, uint32_t>(of(float{}), Precision::stored);
  if (wrong.empty()) wrong = check_pack<float, uint32_t>(of(float{}), Precision::int8);
  if (wrong.empty()) wrong = check_pack<Float16, uint32_t>(of(float{}), Precision::int8);
  if (wrong.empty()) wrong = check_pack<double, uint64_t>(of(double{}), Precision::int8);
  if (wrong.empty()) wrong = check_pack<Bfloat16, uint32_t>(of(float{}), Precision::stored);
  if (wrong.empty()) wrong = check_pack<float, uint32_t>(of(float{}), Precision::bfloat16);
  return wrong;
}

TEST_CASE("messages of every representation are the host's") {
  for (const WireCase& shape : unit::wire_cases()) {
    INFO(shape.name);
    CHECK(check_types(
              [&]<class Acc>(Acc) {
                return Cut<Acc>{unit::entries_of<Acc>(shape, 1), {shape.region}};
              },
              shape.wide) == "");
  }
}

/// Returns `n` regions of [0, length) with borders near multiples of `step`. Some are empty.
std::vector<Region> regions_near(uint64_t length, uint64_t step, size_t n, uint64_t seed) {
  std::vector<uint64_t> borders{0, length};
  for (size_t r = 1; r < n; ++r) {
    const uint64_t near = noise(seed, r) % (length / step + 1) * step + noise(seed, r + 1000) % 3;
    borders.push_back(std::min(length, near == 0 ? 0 : near - 1));
  }
  std::sort(borders.begin(), borders.end());
  std::vector<Region> regions;
  for (size_t r = 0; r < n; ++r) regions.push_back({borders[r], borders[r + 1]});
  return regions;
}

/// Returns entries near multiples of `step`: the share 1 / `one_in` of all such indices below
/// `length`.
template <class Acc>
Entries<Acc> entries_near(uint64_t length, uint64_t step, uint64_t one_in, uint64_t seed) {
  Entries<Acc> entries;
  for (uint64_t i = 0; i < length; i += i % step == 1 && step > 3 ? step - 2 : 1)
    if (noise(seed, i) % one_in == 0)
      entries.push_back({i, static_cast<Acc>(static_cast<double>(noise(seed, i, 1) % 999) / 8)});
  return entries;
}

TEST_CASE("messages of regions with borders anywhere are the host's") {
  const size_t cases = test::small_run() ? 8 : 40;
  for (uint64_t seed = 1; seed <= cases; ++seed) {
    INFO("seed " << seed);
    const uint64_t length = 1 + noise(seed, 0) % (seed % 4 == 0 ? 65536 * 3 + 100 : 3000);
    const uint64_t step = seed % 4 == 0 ? 65536 : seed % 2 == 0 ? 64 : 1 + noise(seed, 7) % 100;
    const uint64_t one_in = 1 + noise(seed, 1) % (seed % 3 == 0 ? 40 : 3);
    const auto regions = regions_near(length, step, 1 + noise(seed, 2) % 9, seed);
    CHECK(check_types(
              [&]<class Acc>(Acc) {
                return Cut<Acc>{entries_near<Acc>(length, seed % 4 == 0 ? 1 : step, one_in, seed),
                                regions};
              },
              false) == "");
  }
}

TEST_CASE("many regions, one of them with nearly everything, are the host's messages") {
  constexpr uint64_t kLength = 200000;
  for (const size_t n : {239, 240, 241, 600}) {
    INFO(n << " regions");
    auto regions = regions_near(kLength / 100, 1, n - 1, n);
    regions.push_back({kLength / 100, kLength});
    const auto entries = entries_near<float>(kLength, 1, 9, n);
    CHECK(check_pack<float, uint32_t>({entries, regions}, Precision::stored) == "");
    CHECK(check_pack<Float16, uint64_t>({{}, regions}, Precision::stored) == "");
    CHECK(check_pack<double, uint32_t>({{{kLength - 1, 1.0}}, regions}, Precision::stored) == "");
  }
  CHECK(check_pack<float, uint32_t>({{}, {}}, Precision::stored) == "");
}

TEST_CASE("long messages, of codes, of bits, and with a long gap, are the host's messages") {
  constexpr uint64_t kLength = 800000;
  const std::vector<Region> regions{{0, kLength / 4}, {kLength / 4, kLength}};
  for (const uint64_t one_in : {2, 3, 6, 11}) {
    INFO("one index of " << one_in);
    auto entries = entries_near<float>(kLength, 1, one_in, one_in);
    CHECK(check_pack<float, uint32_t>({entries, regions}, Precision::stored) == "");
    std::erase_if(entries, [&](const auto& e) {
      return e.index > kLength / 3 && e.index < kLength - kLength / 5;
    });
    CHECK(check_pack<Bfloat16, uint64_t>({entries, regions}, Precision::stored) == "");
  }
}

TEST_CASE("regions above 2^32 are the host's messages") {
  Entries<double> entries;
  for (uint64_t i = 0; i < 3000; ++i)
    entries.push_back({k2to32 * 5 - 1000 + i * (i < 2000 ? 1 : k2to32 / 64), double(i)});
  std::vector<Region> regions{{0, k2to32 * 5 - 700},
                              {k2to32 * 5 - 700, k2to32 * 5 - 100},
                              {k2to32 * 5 - 100, k2to32 * 5 + 65536},
                              {k2to32 * 5 + 65536, k2to32 * 600}};
  CHECK(check_pack<double, uint64_t>({entries, regions}, Precision::stored) == "");
}

TEST_CASE("dense vectors are the host's messages") {
  for (const size_t n : {0, 1, 7, 1000, 70001}) {
    INFO("n = " << n);
    const auto regions = regions_near(n, 5, 4, n);
    const auto of = [&]<class Acc>(Acc) {
      Cut<Acc> cut{{}, regions};
      for (const Acc value : unit::dense_of<Acc>(test::Kind::kNotFinite, n, 3))
        cut.entries.push_back({cut.entries.size(), value});
      return cut;
    };
    CHECK(check_pack<float, uint32_t>(of(float{}), Precision::accumulated, true) == "");
    CHECK(check_pack<double, uint64_t>(of(double{}), Precision::stored, true) == "");
    CHECK(check_pack<Float16, uint32_t>(of(float{}), Precision::stored, true) == "");
    CHECK(check_pack<float, uint32_t>(of(float{}), Precision::int8, true) == "");
    CHECK(check_pack<Bfloat16, uint64_t>(of(float{}), Precision::accumulated, true) == "");
  }
}

}  // namespace
}  // namespace sparsecoll::cuda_test
