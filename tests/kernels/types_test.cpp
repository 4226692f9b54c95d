// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests kernels of types that are accumulated in another type: where a 16-bit type is rounded, and
// which values are sent in two bytes and which in four. Tests integers, too.

#include <cstring>

#include "kernels/naive.hpp"
#include "kernels/wire.hpp"
#include "oracle/half.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"

namespace sparsecoll::unit {
namespace {

using Bytes16 = std::vector<std::byte>;

template <class Half>
constexpr DataType kHalf =
    std::is_same_v<Half, oracle::Float16> ? DataType::float16 : DataType::bfloat16;

/// Kernels of a tensor of a 16-bit type.
template <class Half>
struct HalfBackend : Backend<float, uint32_t, kHalf<Half>> {
  Bytes16 pack(const SparseSpan& in, const Region& region) {
    const Packets packets = this->kernels().packets(in.nnz.bound, {&region, 1}, in.precision);
    this->kernels().pack_all(in, {&region, 1}, packets);
    this->kernels().wait_packed(packets.slab + packets.capacity);
    CHECK(packets.offset[0] + packets.size[0] <= packets.capacity);
    const std::byte* at = packets.slab + packets.offset[0];
    return {at, at + packets.size[0]};
  }

  /// Returns the entries, or nothing after a fault.
  Entries<float> unpack(const Bytes16& bytes, const Region& region, uint64_t* faults) {
    const SparseBuffer out =
        this->kernels().sparse(wire_entries(bytes, this->kernels().data_type(), region.length()));
    const Message message{bytes, region};
    this->kernels().unpack_all({&message, 1}, {&out, 1}, faults);
    return this->get(out);
  }
};

/// Returns the part of a value that the type sends.
template <class Half>
float rounded(float value) {
  return static_cast<float>(Half(value)) + 0.0f;
}

template <class Half>
std::string check_select(test::Kind kind, size_t n, size_t k, bool feedback) {
  const std::vector<Half> gradient = test::make_data<Half>(kind, n, 0, 1, 3);
  const std::vector<float> old = test::make_data<float>(test::Kind::kHeavyTail, n, 0, 1, 4);
  Entries<float> acc;
  for (size_t i = 0; i < n; ++i)
    acc.push_back(
        {i, feedback ? static_cast<float>(gradient[i]) + old[i] : static_cast<float>(gradient[i])});
  std::vector<float> want_left, left(n, -7.0f);
  for (const auto& entry : acc) want_left.push_back(entry.value);
  Entries<float> want = naive_top_k(acc, k);
  for (auto& entry : want) {
    const float shipped = rounded<Half>(entry.value);
    want_left[entry.index] = std::isfinite(entry.value) ? entry.value - shipped : 0.0f;
    entry.value = shipped;
  }
  HalfBackend<Half> backend;
  const SparseBuffer selected = backend.kernels().sparse(std::min(k, n));
  const ResidualView view{feedback ? old.data() : nullptr, feedback ? left.data() : nullptr};
  backend.kernels().accumulate_select({gradient.data(), n, view}, k, selected);
  const std::string differs = test::difference("selected", backend.get(selected), one_nan(want));
  if (!differs.empty() || !feedback) return differs;
  return test::difference("left", one_nan(left), one_nan(want_left));
}

TEMPLATE_TEST_CASE("accumulate_select rounds what it ships and keeps what that took", "",
                   oracle::Float16, oracle::Bfloat16) {
  for (const test::Kind kind : kDenseKinds) {
    for (const size_t n : {0, 1, 64, 1000}) {
      for (const size_t k : some_k(n)) {
        INFO(test::name_of(kind) << ", n = " << n << ", k = " << k);
        CHECK(check_select<TestType>(kind, n, k, true) == "");
        CHECK(check_select<TestType>(kind, n, k, false) == "");
      }
    }
  }
}

TEMPLATE_TEST_CASE("selection goes by what acc was before it was rounded", "", oracle::Float16,
                   oracle::Bfloat16) {
  HalfBackend<TestType> backend;
  // Both of the first two are 1 in a 16-bit type, the last one is 0.
  const std::vector<TestType> gradient{TestType(1.0), TestType(1.0), TestType(0.0)};
  const std::vector<float> old{0.0f, 1e-6f, -1e-42f};
  std::vector<float> left(3);
  const SparseBuffer one = backend.kernels().sparse(1), three = backend.kernels().sparse(3);
  backend.kernels().accumulate_select({gradient.data(), 3, {old.data(), left.data()}}, 1, one);
  CHECK(test::difference("one", backend.get(one), {{1, 1.0f}}) == "");
  backend.kernels().accumulate_select({gradient.data(), 3, {old.data(), left.data()}}, 3, three);
  CHECK(test::difference("three", backend.get(three), {{0, 1.0f}, {1, 1.0f}, {2, 0.0f}}) == "");
  CHECK(test::difference("left", left, {0.0f, (1.0f + 1e-6f) - 1.0f, -1e-42f}) == "");
}

TEMPLATE_TEST_CASE("stored values travel in two bytes, sums in four, and either is taken", "",
                   oracle::Float16, oracle::Bfloat16) {
  const Region region{100, 100000};
  Entries<float> exact, sums;
  for (uint64_t j = 0; j < 50; ++j) {
    const auto pattern = static_cast<unsigned>(test::noise(1, j) & 0xffff);
    exact.push_back({100 + j * 1900, static_cast<float>(TestType::of_bits(pattern))});
    sums.push_back({100 + j * 1900, static_cast<float>(j) + 1e-6f});
  }
  HalfBackend<TestType> backend;
  const Bytes16 narrow = backend.pack(backend.put(exact).stored(), region);
  const Bytes16 wide = backend.pack(backend.put(sums), region);
  CHECK(wide.size() == narrow.size() + 50 * 2);
  CHECK(static_cast<DataType>(narrow[6]) == kHalf<TestType>);
  CHECK(static_cast<DataType>(wide[6]) == DataType::float32);
  uint64_t faults = 0;
  CHECK(test::difference("stored", one_nan(backend.unpack(narrow, region, &faults)),
                         one_nan(exact)) == "");
  CHECK(test::difference("sums", backend.unpack(wide, region, &faults), sums) == "");
  CHECK(faults == 0);
  // A tensor's type has exactly two types of values in messages.
  for (int type = 0; type < 256; ++type) {
    const auto sent = static_cast<DataType>(type);
    if (sent == kHalf<TestType> || sent == DataType::float32) continue;
    Bytes16 other = wide;
    other[6] = static_cast<std::byte>(type);
    CHECK(wire_entries(other, kHalf<TestType>, region.length()) == 0);
    faults = 0;
    CHECK(backend.unpack(other, region, &faults).empty());
    CHECK(faults == 1);
  }
  CHECK(wire_entries(narrow, DataType::float32, region.length()) == 0);
  CHECK(wire_entries(narrow, kHalf<TestType>, region.length()) == 50);
}

TEMPLATE_TEST_CASE("no change and no truncation of a message does harm, whatever its precision", "",
                   oracle::Float16, oracle::Bfloat16) {
  const Region region{7, 1007};
  Entries<float> entries;
  for (uint64_t j = 0; j < 40; ++j) entries.push_back({7 + j * 25, static_cast<float>(j)});
  HalfBackend<TestType> backend;
  const SparseSpan in = backend.put(entries);
  for (const Bytes16& good : {backend.pack(in, region), backend.pack(in.stored(), region)}) {
    uint64_t faults = 0;
    REQUIRE(backend.unpack(good, region, &faults).size() == 40);
    for (size_t size = 0; size < good.size(); ++size) {
      const Arena::Scope scope(backend.arena());
      const Bytes16 part(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
      CHECK(backend.unpack(part, region, &faults).empty());
    }
    CHECK(faults == good.size());
    for (size_t at = 0; at < good.size(); ++at) {
      for (const int mask : {1, 2, 15, 255}) {
        const Arena::Scope scope(backend.arena());
        Bytes16 spoilt = good;
        spoilt[at] ^= static_cast<std::byte>(mask);
        uint64_t floor = region.begin;
        for (const auto& entry : backend.unpack(spoilt, region, &faults)) {
          if (entry.index < floor || entry.index >= region.end) FAIL("byte " << at);
          floor = entry.index + 1;
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("deliver and scatter divide sums first and round once", "", oracle::Float16,
                   oracle::Bfloat16) {
  Entries<float> sums;
  const auto wide = test::make_data<float>(test::Kind::kHeavyTail, 500, 0, 1, 8);
  const auto odd = test::make_data<float>(test::Kind::kInfinityClash, 500, 0, 1, 9);
  for (uint64_t i = 0; i < 500; ++i) sums.push_back({i, i % 3 == 0 ? odd[i] : wide[i]});
  sums.push_back({500, -1e-44f});
  HalfBackend<TestType> backend;
  for (const int divisor : {1, 2, 3, 16}) {
    Entries<TestType> want;
    for (const auto& entry : sums) {
      const TestType value(divisor == 1 ? entry.value : entry.value / static_cast<float>(divisor));
      want.push_back({entry.index, value == 0 ? TestType() : value});
    }
    const SparseBuffer out = backend.kernels().sparse(sums.size());
    backend.kernels().deliver(backend.put(sums), divisor, out);
    CHECK(test::difference("delivered", backend.template get<TestType>(out), want) == "");
    std::vector<TestType> dense(501, TestType(4.0));
    backend.kernels().scatter(backend.put(sums), divisor, {0, dense.size()}, dense.data());
    for (size_t i = 0; i < dense.size(); ++i) CHECK(dense[i].bits == want[i].value.bits);
  }
}

TEMPLATE_TEST_CASE("a caller's vector is widened exactly, gradients too", "", oracle::Float16,
                   oracle::Bfloat16) {
  HalfBackend<TestType> backend;
  std::vector<uint32_t> index;
  std::vector<TestType> values;
  for (unsigned pattern = 0; pattern < 0x10000; pattern += 17) {
    index.push_back(pattern);
    values.push_back(TestType::of_bits(pattern));
  }
  uint64_t nnz = values.size();
  const SparseSpan wide =
      backend.kernels().widened({index.data(), values.data(), {values.size(), &nnz}});
  CHECK(wide.precision == Precision::stored);
  CHECK(wide.index == index.data());
  std::vector<float> want(values.begin(), values.end()), acc(values.size());
  const auto* got = static_cast<const float*>(wide.value);
  CHECK(test::difference("widened", one_nan(std::vector<float>(got, got + nnz)), one_nan(want)) ==
        "");
  backend.kernels().accumulate({values.data(), values.size(), {}}, acc.data());
  CHECK(test::difference("accumulated", one_nan(acc), one_nan(want)) == "");
}

/// Rounds and packs `sums`, and checks the message and its entries.
template <class A, DataType kType>
void check_rounding(const Entries<A>& sums) {
  const Region region{100, 100000};
  Entries<A> want, want_lost;
  for (const auto& entry : sums) {
    const auto rounded = static_cast<A>(
        static_cast<float>(oracle::Bfloat16(static_cast<double>(entry.value))) + 0.0f);
    want.push_back({entry.index, rounded});
    want_lost.push_back({entry.index, std::isfinite(entry.value) ? entry.value - rounded : A{0}});
  }
  Backend<A, uint32_t, kType> backend;
  Kernels& kernels = backend.kernels();
  const SparseSpan in = backend.put(sums);
  const SparseBuffer rounded = kernels.sparse(sums.size()), lost = kernels.sparse(sums.size());
  kernels.round_to_bf16(in, rounded.value, lost.value);
  for (const SparseBuffer* each : {&rounded, &lost}) {
    std::memcpy(each->index, in.index, sums.size() * sizeof(uint32_t));
    *each->nnz = sums.size();
  }
  CHECK(test::difference("rounded", one_nan(backend.get(rounded)), one_nan(want)) == "");
  CHECK(test::difference("lost", backend.get(lost), want_lost) == "");
  const SparseSpan out = rounded.span().known(Precision::bfloat16);
  const Packets packets = kernels.packets(out.nnz.bound, {&region, 1}, out.precision);
  kernels.pack_all(out, {&region, 1}, packets);
  kernels.wait_packed(packets.slab + packets.capacity);
  const ConstBytes message(packets.slab + packets.offset[0], packets.size[0]);
  CHECK(static_cast<DataType>(message[6]) == DataType::bfloat16);
  CHECK(message.size() == wire_bytes(Representation::coded, {sums.size(), region.length(), 2}));
  CHECK(wire_entries(message, kType, region.length()) == sums.size());
  CHECK(wire_entries(message, DataType::int32, region.length()) == 0);
  const SparseBuffer back = kernels.sparse(sums.size());
  uint64_t faults = 0;
  const Message arrived{message, region};
  kernels.unpack_all({&arrived, 1}, {&back, 1}, &faults);
  CHECK(faults == 0);
  CHECK(test::difference("back", one_nan(backend.get(back)), one_nan(want)) == "");
}

TEST_CASE("rounded to bfloat16, values of every floating-point type travel in two bytes") {
  Entries<float> floats;
  Entries<double> doubles;
  for (uint64_t j = 0; j < 500; ++j) {
    const auto bits = static_cast<uint32_t>(test::noise(7, j));
    floats.push_back({100 + j * 190, std::bit_cast<float>(bits)});
    doubles.push_back({100 + j * 190, std::bit_cast<double>(test::noise(8, j))});
  }
  for (const double special : {-0.0, 1e-60, 1e300, -HUGE_VAL}) {
    doubles.push_back({doubles.back().index + 3, special});
    floats.push_back({floats.back().index + 3, static_cast<float>(std::max(special, -3e38))});
  }
  check_rounding<float, DataType::float32>(floats);
  check_rounding<double, DataType::float64>(doubles);
  check_rounding<float, DataType::float16>(floats);
  check_rounding<float, DataType::bfloat16>(floats);
}

TEST_CASE("vectors of types that are added as they are need no widening") {
  Backend<double, uint64_t> backend;
  const SparseSpan in = backend.put({{1, 2.0}});
  const SparseSpan out = backend.kernels().widened(in);
  CHECK(out.value == in.value);
  CHECK(backend.kernels().wire_value_size(Precision::stored) == 8);
  CHECK(backend.kernels().wire_value_size(Precision::accumulated) == 8);
  CHECK(backend.kernels().wire_value_size(Precision::bfloat16) == 2);
}

TEST_CASE("integer kernels wrap, order by magnitude and divide with their sign") {
  Memory memory;
  Arena arena(memory);
  const Arena::Scope scope(arena);
  for (const DataType type : {DataType::int32, DataType::int64}) {
    Kernels& kernels = make_plain_kernels(type, IndexType::index32, arena);
    CHECK(kernels.data_type() == type);
    const auto put = [&](std::vector<int64_t> values) {
      const SparseBuffer out = kernels.sparse(values.size());
      for (size_t j = 0; j < values.size(); ++j) {
        static_cast<uint32_t*>(out.index)[j] = static_cast<uint32_t>(j);
        std::memcpy(static_cast<std::byte*>(out.value) + j * size_of(type), &values[j],
                    size_of(type));
      }
      *out.nnz = values.size();
      return out.span();
    };
    const auto get = [&](const SparseBuffer& buffer) {
      std::vector<int64_t> values;
      for (size_t j = 0; j < *buffer.nnz; ++j)
        values.push_back(type == DataType::int32 ? static_cast<const int32_t*>(buffer.value)[j]
                                                 : static_cast<const int64_t*>(buffer.value)[j]);
      return values;
    };
    const int64_t max = type == DataType::int32 ? INT32_MAX : INT64_MAX, min = -max - 1;
    const SparseSpan inputs[] = {put({max, min, 5}), put({1, -1, -5})};
    const SparseBuffer sum = kernels.sparse(3), kept = kernels.sparse(2), out = kernels.sparse(3);
    kernels.merge(inputs, sum);
    CHECK(get(sum) == std::vector<int64_t>{min, max, 0});
    kernels.merge_above(inputs, static_cast<uint64_t>(max) + 1, sum);
    CHECK(get(sum) == std::vector<int64_t>{min});
    kernels.top_k(put({max, 7, min}), 2, kept, SparseBuffer{});
    CHECK(get(kept) == std::vector<int64_t>{max, min});
    kernels.top_k(put({max, 7, min}), 1, kept, SparseBuffer{});
    CHECK(get(kept) == std::vector<int64_t>{min});
    CHECK(kernels.keys().end == static_cast<uint64_t>(max) + 2);
    kernels.deliver(put({-6, 7, max}), 2, out);
    CHECK(get(out) == std::vector<int64_t>{-3, 3, max / 2});
  }
}

}  // namespace
}  // namespace sparsecoll::unit
