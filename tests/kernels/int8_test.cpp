// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Messages of 8-bit values.

#include "core/int8.hpp"

#include <cmath>

#include "kernels/messages.hpp"
#include "oracle/wire.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/data.hpp"

namespace sparsecoll::unit {
namespace {

constexpr unsigned kBits = 6;  // 64 consecutive indices share a scale: about three entries
constexpr unsigned kManyBits = 11;

/// Returns entries of all magnitudes, some of them not finite, of a vector of 20,000 values.
template <class T>
Entries<T> some_entries(uint64_t seed) {
  Entries<T> entries;
  for (uint64_t index = 3; index < 20000; index += 1 + test::noise(seed, index) % 40) {
    const uint64_t bits = test::noise(seed + 1, index);
    const int exponent = static_cast<int>(bits % 61) - 30;
    T value = std::ldexp(static_cast<T>(static_cast<int32_t>(bits >> 32)), exponent);
    if (bits % 97 == 0) value = std::numeric_limits<T>::quiet_NaN();
    if (bits % 101 == 0) value = -std::numeric_limits<T>::infinity();
    entries.push_back({index, value});
  }
  return entries;
}

template <class T>
oracle::Sparse<T> for_oracle(const Entries<T>& entries) {
  oracle::Sparse<T> sparse;
  for (const auto& entry : entries) sparse.push_back({entry.index, entry.value});
  return sparse;
}

/// Rounds entries, packs them by region, unpacks them at other indices, and compares.
template <class A, class I, DataType kType>
std::string check_rounding(uint64_t seed, unsigned bits, const std::vector<Region>& regions,
                           uint64_t moved) {
  const Entries<A> entries = some_entries<A>(seed);
  oracle::Sparse<A> want = for_oracle(entries);
  const oracle::Sparse<A> want_lost =
      oracle::round_for_wire(want, {oracle::Wire::kInt8, uint64_t{1} << bits});
  Backend<A, I, kType> backend;
  Kernels& kernels = backend.kernels();
  kernels.set_scale_bits(bits);
  const SparseSpan in = backend.put(entries);
  const SparseBuffer rounded = kernels.sparse(entries.size()),
                     lost = kernels.sparse(entries.size());
  kernels.round_to_int8(in, rounded.value, lost.value);
  for (const SparseBuffer* each : {&rounded, &lost}) {
    std::memcpy(each->index, in.index, entries.size() * sizeof(I));
    *each->nnz = entries.size();
  }
  std::string wrong = test::difference("rounded", for_oracle(backend.get(rounded)), want);
  if (wrong.empty()) wrong = test::difference("lost", for_oracle(backend.get(lost)), want_lost);
  if (!wrong.empty()) return wrong;
  const SparseSpan out = rounded.span().known(Precision::int8);
  const Packets packets = kernels.packets(entries.size(), regions, out.precision);
  kernels.pack_all(out, regions, packets);
  kernels.wait_packed(packets.slab + packets.capacity);
  for (size_t p = 0; p < regions.size(); ++p) {
    if (packets.offset[p] + packets.size[p] > packets.capacity) return "a message past the slab";
    const std::byte* const at = packets.slab + packets.offset[p];
    const MessageBytes message(at, at + packets.size[p]);
    Region region = regions[p];
    oracle::Sparse<A> part;
    for (const auto& entry : want)
      if (entry.index >= region.begin && entry.index < region.end)
        part.push_back({entry.index + moved, entry.value});
    if (packets.size[p] > kernels.message_bound(part.size(), region.length(), Precision::int8))
      return "a message above its bound";
    region = {region.begin + moved, region.end + moved};
    const SparseBuffer back = kernels.sparse(part.size());
    uint64_t faults = 0;
    const Message arrived{message, region, moved};
    size_t claimed = 0;
    kernels.count_entries({&arrived, 1}, &claimed);
    if (claimed != part.size()) return "another number of entries";
    kernels.unpack_all({&arrived, 1}, {&back, 1}, &faults);
    if (faults != 0) return "a fault";
    wrong = test::difference("unpacked", for_oracle(backend.get(back)), part);
    if (!wrong.empty()) return wrong;
    // Whatever is cut off, or without scales, the message is refused.
    const Message shorter{ConstBytes(message).first(message.size() - 1), region, moved};
    kernels.unpack_all({&shorter, 1}, {&back, 1}, &faults);
    if (faults != 1) return "a message without its end is accepted";
    if (wire_entries(message, kType, region.length()) != 0)
      return "8-bit values are accepted where there are none";
  }
  return "";
}

template <class A, DataType kType>
void check_type() {
  const std::vector<Region> whole{{0, 20000}},
      parts{{0, 1}, {1, 1}, {1, 700}, {700, 6400}, {6400, 6401}, {6401, 20000}};
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    for (const uint64_t moved : {uint64_t{0}, uint64_t{1000}})
      for (const unsigned bits : {kBits, kManyBits}) {
        CAPTURE(seed, moved, bits);
        CHECK(check_rounding<A, uint32_t, kType>(seed, bits, whole, moved) == "");
        CHECK(check_rounding<A, uint32_t, kType>(seed, bits, parts, moved) == "");
        CHECK(check_rounding<A, uint64_t, kType>(seed, bits, parts, moved) == "");
      }
  }
}

TEST_CASE("rounded to 8 bits, values of every floating-point type travel exactly") {
  check_type<float, DataType::float32>();
  check_type<double, DataType::float64>();
  check_type<float, DataType::float16>();
  check_type<float, DataType::bfloat16>();
}

TEST_CASE("the bytes of a message of 8-bit values") {
  Backend<float, uint32_t> backend;
  Kernels& kernels = backend.kernels();
  kernels.set_scale_bits(2);
  const Region region{6, 12};  // of the groups {4 .. 7}, {8 .. 11}
  const SparseSpan in = backend
                            .put({{6, 1920.0f},
                                  {7, -1.0f},
                                  {8, std::numeric_limits<float>::infinity()},
                                  {9, 0.25f},
                                  {10, 960.0f},
                                  {11, 0.0f}})
                            .known(Precision::int8);
  const Packets packets = kernels.packets(6, {&region, 1}, in.precision);
  kernels.pack_all(in, {&region, 1}, packets);
  kernels.wait_packed(packets.slab + packets.capacity);
  const std::byte* const at = packets.slab + packets.offset[0];
  REQUIRE(packets.size[0] == 24 + 2 + 6);
  CHECK(at[6] == std::byte{0});
  CHECK(at[7] == std::byte{1});
  const uint8_t want[] = {137, 136, 126, 255, 127, 0, 126, 0};  // 0.25 is half of 2^-1: to even
  CHECK(std::memcmp(at + 24, want, sizeof want) == 0);
}

TEST_CASE("no change of a message of 8-bit values does harm") {
  Backend<float, uint32_t> backend;
  Kernels& kernels = backend.kernels();
  kernels.set_scale_bits(kBits);
  const Region region{100, 1100};
  Entries<float> entries;
  for (uint64_t j = 0; j < 90; ++j) entries.push_back({100 + j * 11, static_cast<float>(j)});
  const SparseSpan in = backend.put(entries).known(Precision::int8);
  const Packets packets = kernels.packets(entries.size(), {&region, 1}, in.precision);
  kernels.pack_all(in, {&region, 1}, packets);
  kernels.wait_packed(packets.slab + packets.capacity);
  const std::byte* const at = packets.slab + packets.offset[0];
  const MessageBytes good(at, at + packets.size[0]);
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    MessageBytes changed = good;
    changed[bit / 8] ^= std::byte{1} << bit % 8;
    const Message message{changed, region};
    size_t claimed = 0;
    kernels.count_entries({&message, 1}, &claimed);
    const SparseBuffer out = kernels.sparse(claimed);
    uint64_t faults = 0;
    kernels.unpack_all({&message, 1}, {&out, 1}, &faults);
    const std::string harm = check_harmless(Unpacked<float>{faults, backend.get(out)}, region);
    if (!harm.empty()) FAIL(bit << ": " << harm);
  }
}

TEST_CASE("256 selected values or more share a scale, and fewer than 1024") {
  CHECK(scale_bits_for(1000000, 1000, 1) == 18);
  CHECK(scale_bits_for(1000, 1000, 1) == 8);
  CHECK(scale_bits_for(1000, 1000, 4) == 6);
  CHECK(scale_bits_for(1000, 1000, 1000) == 0);
  CHECK(scale_bits_for(1000, kAll, 1) == 16);
  CHECK(scale_bits_for(~uint64_t{0}, 1, 1) == 63);
  for (uint64_t j = 0; j < 100000; ++j) {
    const uint64_t count = 1 + test::noise(5, j) % 10000000, k = 1 + test::noise(6, j) % count;
    const size_t block = 1 + test::noise(7, j) % 256;
    const auto values = static_cast<double>(uint64_t{1} << scale_bits_for(count, k, block)) *
                        static_cast<double>(k) / static_cast<double>(count) *
                        static_cast<double>(block);
    if (values < 256 || values >= 1024 * 1.001) FAIL(count << " " << k << " " << block);
    const uint64_t width = (uint64_t{1} << scale_bits_for(count, k, block)) * block;
    if (width != oracle::values_of_a_scale(count, k, block)) FAIL(count << " " << k);
  }
}

}  // namespace
}  // namespace sparsecoll::unit
