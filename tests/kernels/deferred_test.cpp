// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests gTop-k and the kernels on the deferred backend: no code reads a count too early, the host
// never waits, and the results are those of the oracle.

#include <algorithm>
#include <random>

#include "collectives/building_blocks/plain_messages.hpp"
#include "collectives/building_blocks/rounding.hpp"
#include "collectives/registry.hpp"
#include "core/numeric.hpp"
#include "kernels/deferred_backend.hpp"
#include "kernels/wire.hpp"
#include "oracle/wire.hpp"
#include "support/catch.hpp"
#include "support/ranks.hpp"
#include "transport/local.hpp"

namespace sparsecoll::test {

namespace {

/// One rank of a gTop-k with feedback, on the deferred backend from gradient to residual.
template <class T>
struct Rank {
  std::vector<T> gradient;
  std::vector<T> residual;
  std::vector<T> result;

  std::string run(Transport& transport, size_t k, ResidualRule rule, Wire wire) {
    const size_t n = gradient.size();
    Memory memory;
    Arena arena(memory);
    const Arena::Scope scope(arena);
    DeferredStream stream;
    DeferredKernels kernels(make_plain_kernels(Float<T>::kType, IndexType::index32, arena), arena,
                            stream);
    DeferredCall call(transport, arena, stream);
    Stats stats;
    Env env{call, kernels, arena, stats, kernels.counts(1), wire};
    if (wire == Wire::int8) kernels.set_scale_bits(scale_bits_for(gradient.size(), k, 1));
    ShapeCache cache;

    std::vector<T> next(n, T{-1});
    const SparseBuffer selected = kernels.sparse(k);
    kernels.accumulate_select({gradient.data(), n, {residual.data(), next.data()}}, k, selected);
    const Rounded sent = round_for_wire(env, selected.span());
    const Outcome outcome = gtopk().run(env, {n, k, sent.values, 0}, cache);
    kernels.put_back({sent.lost, {}, {}}, next.data());
    kernels.put_back({sent.values, outcome.result, outcome.dropped, rule}, next.data());
    result.assign(n, T{-1});
    kernels.scatter(outcome.result, 1, {0, n}, result.data());

    if (kernels.reads() != 0) return "the host waited for a count";
    if (result != std::vector<T>(n, T{-1})) return "something ran before the stream was drained";
    stream.drain();
    if (*env.fault != 0) return "a message was malformed";
    residual = next;
    return "";
  }
};

template <class T>
void check_gtopk(int P, size_t n, size_t k, ResidualRule rule, Wire wire = Wire::native) {
  CAPTURE(P, n, k, static_cast<int>(rule), static_cast<int>(wire));
  const auto transports = make_local_transports(P);
  std::vector<Rank<T>> ranks(static_cast<size_t>(P));
  oracle::DenseInputs<T> in;
  for (int r = 0; r < P; ++r) {
    std::mt19937 random(static_cast<unsigned>(97 * P + r));
    Rank<T>& rank = ranks[static_cast<size_t>(r)];
    rank.gradient.resize(n);
    // These values have ties; over a wire that rounds they are integers with more bits than that
    // keeps.
    const int most = wire != Wire::native ? 999 : 9;
    for (T& value : rank.gradient)
      value =
          static_cast<T>(static_cast<int>(random() % (2 * static_cast<unsigned>(most) + 1)) - most);
    rank.residual.assign(n, T{0});
    in.sends.push_back(rank.gradient);
    in.residuals.push_back(rank.residual);
  }
  // There are two calls, so that the second starts from the residual of the first.
  for (int call = 0; call < 2; ++call) {
    const std::string verdict = run_threads("gTop-k on the deferred backend", P, [&](int r) {
      return ranks[static_cast<size_t>(r)].run(*transports[static_cast<size_t>(r)], k, rule, wire);
    });
    REQUIRE(verdict == "");
    const auto oracle_rule =
        rule == ResidualRule::paper ? oracle::Rule::kPaper : oracle::Rule::kConserving;
    const auto expected =
        wire == Wire::native
            ? oracle::Oracle<T>::gtopk_allreduce(in, k, oracle::Op::kSum, oracle_rule)
            : oracle::WireOracle<T>::gtopk_allreduce(
                  in, k, oracle::Op::kSum, oracle_rule,
                  wire == Wire::bf16 ? oracle::Wire::kBf16 : oracle::Wire::kInt8);
    for (size_t r = 0; r < ranks.size(); ++r) {
      CAPTURE(call, r);
      CHECK(ranks[r].result == expected.result);
      CHECK(ranks[r].residual == expected.residuals[r]);
    }
    in.residuals = expected.residuals;
  }
}

TEST_CASE("a device gets a plain message coded, and all others as they are") {
  constexpr uint64_t kEntries = kPlainEntries + 3;
  const Region region{100, 100 + 50 * kEntries};
  Memory memory;
  Arena arena(memory);
  const Arena::Scope scope(arena);
  Kernels& host = make_plain_kernels(DataType::float32, IndexType::index32, arena);
  DeferredStream stream;
  DeferredKernels device(host, arena, stream);
  const auto transports = make_local_transports(1);
  DeferredCall call(*transports[0], arena, stream);
  Stats stats;
  Env env{call, device, arena, stats, host.counts(1)};
  const SparseBuffer entries = host.sparse(kEntries);
  for (size_t j = 0; j < kEntries; ++j) {
    static_cast<uint32_t*>(entries.index)[j] = static_cast<uint32_t>(region.begin + 50 * j + j % 7);
    static_cast<float*>(entries.value)[j] = static_cast<float>(j);
  }
  *entries.nnz = kEntries;
  const auto packed = [&](Precision precision, bool plain) {
    const Packets packets = host.packets(kEntries, {&region, 1}, precision, &plain);
    host.pack_all(entries.span().known(precision), {&region, 1}, packets);
    host.wait_packed(packets.slab + packets.capacity);
    return ConstBytes(packets.slab + *packets.offset, *packets.size);
  };
  for (const Precision precision : {Precision::stored, Precision::bfloat16}) {
    const ConstBytes coded = packed(precision, false), plain = packed(precision, true);
    REQUIRE(plain.size() > coded.size());
    CHECK(std::ranges::equal(readable(env, {plain, region}), coded));
    CHECK(readable(env, {coded, region}).data() == coded.data());
    CHECK(readable(env, {plain.first(100), region}).data() == plain.data());  // damaged
    Env of_host{call, host, arena, stats, host.counts(1)};
    CHECK(readable(of_host, {plain, region}).data() == plain.data());
  }
}

}  // namespace

TEST_CASE("gTop-k needs no host wait and equals the oracle, any P") {
  for (const int P : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16})
    for (const ResidualRule rule : {ResidualRule::conserving, ResidualRule::paper}) {
      check_gtopk<float>(P, 300, 12, rule);
      check_gtopk<double>(P, 64, 64, rule);
      check_gtopk<float>(P, 40, 0, rule);
      for (const Wire wire : {Wire::bf16, Wire::int8}) {
        check_gtopk<float>(P, 300, 12, rule, wire);
        check_gtopk<double>(P, 64, 64, rule, wire);
      }
    }
}

TEST_CASE("a count that is read too early is poison, then right") {
  Memory memory;
  Arena arena(memory);
  const Arena::Scope scope(arena);
  DeferredStream stream;
  DeferredKernels kernels(make_plain_kernels(DataType::float32, IndexType::index32, arena), arena,
                          stream);
  const float gradient[] = {3, -1, 0, 2};
  const SparseBuffer selected = kernels.sparse(3);
  kernels.accumulate_select({gradient, 4, {}}, 3, selected);
  CHECK(*selected.nnz > 1000000);
  CHECK(stream.submitted() == 2);
  CHECK(kernels.read(selected.nnz) == 3);
  CHECK(kernels.reads() == 1);
}

TEST_CASE("kernels queued in a row give on the deferred backend what they give at once") {
  std::mt19937 random(5);
  std::vector<float> a(1000), b(1000);
  for (float& value : a) value = static_cast<float>(static_cast<int>(random() % 9) - 4);
  for (float& value : b) value = static_cast<float>(static_cast<int>(random() % 9) - 4);
  const auto chain = [&](Kernels& kernels, std::vector<float>& dense) {
    const SparseBuffer first = kernels.sparse(100), second = kernels.sparse(100);
    kernels.accumulate_select({a.data(), a.size(), {}}, 100, first);
    kernels.accumulate_select({b.data(), b.size(), {}}, 100, second);
    const SparseSpan inputs[] = {first.span(), second.span()};
    const SparseBuffer sum = kernels.sparse(200), top = kernels.sparse(50);
    kernels.merge(inputs, sum);
    kernels.merge_above(inputs, key_of(3.0f), sum);
    kernels.top_k(sum.span(), 50, top, SparseBuffer{});
    const Region regions[] = {{0, 300}, {300, 1000}};
    const Packets packets = kernels.packets(50, regions);
    kernels.pack_all(top.span(), regions, packets);
    uint64_t at[4];
    kernels.read(packets.offset, 4, at);
    const Message messages[] = {{{packets.slab + at[0], at[2]}, regions[0]},
                                {{packets.slab + at[1], at[3]}, regions[1]}};
    const SparseBuffer parts[] = {kernels.sparse(50), kernels.sparse(50)};
    uint64_t* fault = kernels.counts(1);
    kernels.unpack_all(messages, parts, fault);
    const SparseSpan spans[] = {parts[0].span(), parts[1].span()};
    const SparseBuffer whole = kernels.sparse(100);
    kernels.concatenate(spans, whole);
    kernels.scatter(whole.span(), 2, {0, dense.size()}, dense.data());
    CHECK(kernels.read(fault) == 0);
    CHECK(kernels.read(whole.nnz) == kernels.read(top.nnz));
  };
  Memory memory;
  Arena arena(memory);
  const Arena::Scope scope(arena);
  Kernels& host = make_plain_kernels(DataType::float32, IndexType::index32, arena);
  DeferredStream stream;
  DeferredKernels deferred(host, arena, stream);
  std::vector<float> at_once(1000), late(1000);
  chain(host, at_once);
  chain(deferred, late);
  CHECK(at_once == late);
  CHECK(at_once != std::vector<float>(1000));
}

}  // namespace sparsecoll::test
