// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests messages and results of vectors of blocks on the device against the host's.

#include "kernels/cuda/block_pair.hpp"
#include "support/catch.hpp"

namespace sparsecoll::cuda_test {
namespace {

using test::Kind;

/// Packs `in` on host and device and compares the messages, then unpacks them on the device.
template <class T, class I>
std::string check_messages(size_t size, MessageLocation where, Precision precision) {
  using Acc = Accumulation<T>;
  constexpr size_t kCount = 900;
  BlockPair<T, I> pair(size, where);
  if (precision == Precision::int8)
    for (Kernels* kernels : {&pair.host(), &pair.device()}) kernels->set_scale_bits(4);
  auto blocks = blocks_of<Acc>(Kind::kHeavyTail, kCount, size, 6, 3);
  if (precision == Precision::stored)  // values that the tensor's type has
    for (Acc& value : blocks.value) value = widen(narrow<T>(value));
  const auto in = pair.put(blocks);
  const std::vector<Region> regions{{600, 900}, {0, 3}, {3, 3}, {3, 590}};
  const size_t n = blocks.index.size();
  const Packets want = pair.host().packets(n, regions, precision);
  const Packets got = pair.device().packets(n + kLooseBound, regions, precision);
  pair.host().pack_all(in.host.known(precision), regions, want);
  pair.host().wait_packed(want.slab + want.capacity);
  pair.device().pack_all(in.device.known(precision), regions, got);
  uint64_t offset[4], bytes[4];
  pair.device().read(got.size, 4, bytes);
  pair.device().read(got.offset, 4, offset);
  pair.device().wait_packed(got.slab + got.capacity);
  std::string differs;
  std::vector<Message> here, there;
  std::vector<SparseBuffer> out_here, out_there;
  uint64_t fault_here = 0;
  uint64_t* const fault_there = pair.device().counts(1);
  for (size_t p = 0; p < 4; ++p) {
    const std::byte* const at = want.slab + want.offset[p];
    const std::vector<std::byte> expected(at, at + want.size[p]);
    const std::byte* const from = got.slab + offset[p];
    const auto message = where == MessageLocation::on_host
                             ? std::vector<std::byte>(from, from + bytes[p])
                             : pair.backend().template download<std::byte>(from, bytes[p]);
    if (message != expected) differs += " message " + std::to_string(p) + " differs";
    here.push_back({{at, want.size[p]}, regions[p]});
    there.push_back({{from, bytes[p]}, regions[p]});
  }
  // One that is cut.
  here.push_back({here[3].bytes.first(here[3].bytes.size() - 1), regions[3]});
  there.push_back({there[3].bytes.first(bytes[3] - 1), regions[3]});
  size_t counted_here[5], counted_there[5];
  pair.host().count_entries(here, counted_here);
  pair.device().count_entries(there, counted_there);
  for (size_t p = 0; p < 5; ++p) {
    if (counted_here[p] != counted_there[p]) differs += " count_entries differs";
    out_here.push_back(pair.host().sparse(counted_here[p]));
    out_there.push_back(pair.device().sparse(counted_there[p]));
  }
  pair.host().unpack_all(here, out_here, &fault_here);
  pair.device().unpack_all(there, out_there, fault_there);
  if (fault_here != 1 || pair.device().read(fault_there) != 1) differs += " faults differ";
  for (size_t p = 0; p < 5; ++p)
    differs += test::difference("unpacked", pair.template bits_there<Acc>(out_there[p]),
                                pair.template bits<Acc>(out_here[p]));
  if (pair.device().read(out_there[3].nnz) == 0) differs += " nothing was sent";
  return differs;
}

TEMPLATE_TEST_CASE("messages of blocks are the host's", "", float, double, Float16, Bfloat16,
                   uint64_t) {
  for (const size_t size : kBlockSizes) {
    for (const auto where : {MessageLocation::on_device, MessageLocation::on_host}) {
      for (const auto precision :
           {Precision::accumulated, Precision::stored, Precision::bfloat16, Precision::int8}) {
        if (Integer<TestType> && precision >= Precision::bfloat16) continue;
        CAPTURE(size, static_cast<int>(where), static_cast<int>(precision));
        CHECK(check_messages<TestType, uint32_t>(size, where, precision) == "");
        CHECK(check_messages<TestType, uint64_t>(size, where, precision) == "");
      }
    }
  }
}

template <class T, class I>
std::string check_results(Kind kind, size_t size, size_t count) {
  using Acc = Accumulation<T>;
  BlockPair<T, I> pair(size);
  const auto sent = pair.put(blocks_of<Acc>(kind, count, size, 2));
  const auto delivered = pair.put(blocks_of<Acc>(Kind::kHeavyTail, count, size, 3));
  const auto dropped = pair.put(blocks_of<Acc>(kind, count, size, 4));
  const size_t values = count * size;
  std::string differs;
  if constexpr (!Integer<T>) {
    for (const ResidualRule rule : {ResidualRule::conserving, ResidualRule::paper}) {
      std::vector<Acc> want = values_of<Acc>(Kind::kIntegers, values, 1);
      Acc* const residual = pair.backend().upload(want);
      pair.host().put_back({sent.host, delivered.host, dropped.host, rule}, want.data());
      pair.device().put_back({sent.device, delivered.device, dropped.device, rule}, residual);
      differs += test::difference(
          "residual", bits_but_nan(pair.backend().template download<Acc>(residual, values)),
          bits_but_nan(want));
    }
    const size_t n = pair.host().read(sent.host.nnz.at) * size;
    std::vector<Acc> rounded(n), lost(n);
    Acc* const rounded_there = pair.backend().upload(std::vector<Acc>(n + kLooseBound * size));
    Acc* const lost_there = pair.backend().upload(std::vector<Acc>(n + kLooseBound * size));
    for (Kernels* kernels : {&pair.host(), &pair.device()}) kernels->set_scale_bits(3);
    for (const auto round : {&Kernels::round_to_bf16, &Kernels::round_to_int8}) {
      (pair.host().*round)(sent.host, rounded.data(), lost.data());
      (pair.device().*round)(sent.device, rounded_there, lost_there);
      differs +=
          test::difference("rounded",
                           bits_of(pair.backend().template download<Acc>(rounded_there, n)),
                           bits_of(rounded)) +
          test::difference("lost", bits_of(pair.backend().template download<Acc>(lost_there, n)),
                           bits_of(lost));
    }
  }
  for (const int divisor : {1, 3}) {
    const auto deliver = [divisor](const SparseSpan& in) {
      return [&in, divisor](Kernels& kernels, const SparseBuffer& out) {
        kernels.deliver(in, divisor, out);
      };
    };
    differs += pair.template compare<T>("deliver", count, deliver(sent.host), deliver(sent.device));
    for (const Region region : {Region{0, count}, Region{count, count + 9}}) {
      auto in = region.begin == 0 ? sent : pair.put({});
      if (region.begin != 0) {  // entries of a region that begins later
        auto blocks = blocks_of<Acc>(kind, 9, size, 8);
        for (uint64_t& index : blocks.index) index += region.begin;
        in = pair.put(blocks);
      }
      const size_t n = region.length() * size;
      std::vector<T> want(n);
      T* const dense = pair.backend().upload(values_of<T>(kind, n, 9));
      pair.host().scatter(in.host, divisor, region, want.data());
      pair.device().scatter(in.device, divisor, region, dense);
      differs += test::difference("dense", bits_of(pair.backend().template download<T>(dense, n)),
                                  bits_of(want));
    }
  }
  return differs;
}

TEMPLATE_TEST_CASE("results of blocks are the host's", "", float, double, Float16, Bfloat16,
                   uint32_t, uint64_t) {
  for (const Kind kind : unit::kDenseKinds) {
    for (const size_t size : kBlockSizes) {
      CAPTURE(test::name_of(kind), size);
      CHECK(check_results<TestType, uint32_t>(kind, size, 40) == "");
      CHECK(check_results<TestType, uint64_t>(kind, size, 3) == "");
    }
  }
}

TEST_CASE("values of blocks are widened, and can be read as single values") {
  BlockPair<Bfloat16> pair(6);
  const auto values = values_of<Bfloat16>(Kind::kHeavyTail, 60, 1);
  uint64_t ten = 10;
  uint64_t* const nnz = pair.device().counts(1);
  pair.device().set_count(nnz, ten);
  const SparseSpan here{nullptr, values.data(), {10, &ten}};
  const SparseSpan there{nullptr, pair.backend().upload(values), {10, nnz}};
  const SparseSpan wide_here = pair.host().widened(here), wide = pair.device().widened(there);
  const auto* const want = static_cast<const float*>(wide_here.value);
  CHECK(bits_of(pair.backend().template download<float>(wide.value, 60)) ==
        bits_of(std::vector<float>(want, want + 60)));
  CHECK(pair.device().read(pair.device().values_of(wide).nnz.at) == 60);
  CHECK(pair.device().of_values().block_size() == 1);
  CHECK(pair.device().keys().end == pair.host().keys().end);
}

}  // namespace
}  // namespace sparsecoll::cuda_test
