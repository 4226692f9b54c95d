// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// sparseAlltoall and sparseReduceScatter: one rank does something else than the others, or
// something that nobody may do.

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/deviations.hpp"
#include "support/exchange_sweep.hpp"
#include "support/ranks.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

constexpr std::uint64_t kCount = 100;
constexpr int kRanks = 4;

/// Everything that both verbs are given, and the memory behind it.
struct Call {
  explicit Call(sparsecollComm_t communicator)
      : comm(communicator),
        input(kCount, sparsecollIndex32, oracle::Sparse<float>{{1, 1.0f}, {40, 2.0f}, {99, 3.0f}}),
        output(kCount, sparsecollIndex32, 50),
        residual(communicator, kCount),
        doubles(communicator, kCount),
        in(*input.get()),
        out(*output.get()) {}

  sparsecollComm_t comm;
  SparseBuffer<float> input, output;
  Residual<float> residual;
  Residual<double> doubles;
  std::vector<float> dense = std::vector<float>(kCount, 1.0f);
  std::vector<std::size_t> borders{0, 20, 50, 80, kCount};
  std::vector<std::size_t> counts = std::vector<std::size_t>(kRanks, 77);
  std::vector<std::uint64_t> spare = std::vector<std::uint64_t>(kCount);

  // What is passed.
  bool reduces = false;  ///< sparseReduceScatter
  sparsecollSparse_t in, out;
  const sparsecollSparse_t* send = &in;
  sparsecollSparse_t* recv = &out;
  const void* sendbuff = dense.data();
  std::size_t count = kCount;
  std::size_t k = 10;
  sparsecollDataType_t datatype = sparsecollFloat32;
  sparsecollRedOp_t op = sparsecollSum;
  sparsecollResidual_t feedback = residual.handle();
  const std::size_t* bounds = borders.data();
  std::size_t* recvcounts = counts.data();
  sparsecollStream_t stream = nullptr;

  sparsecollResult_t run() {
    if (!reduces) return sparseAlltoall(send, recv, recvcounts, bounds, comm, stream);
    return sparseReduceScatter(sendbuff, recv, count, k, datatype, op, bounds, feedback, comm,
                               stream);
  }
  /// Every bit that a refused call must leave alone.
  std::vector<std::uint64_t> image() const {
    std::vector<std::uint64_t> all = output.image();
    all.insert(all.end(), counts.begin(), counts.end());
    for (const float value : residual.read()) all.push_back(bits(value));
    all.insert(all.end(), {out.count, out.nnz, out.needed});
    return all;
  }
};

struct Difference {
  const char* name;
  bool reduces;
  bool bad;
  void (*apply)(Call&);
  /// As in Deviation.
  std::vector<std::vector<std::string>> words = {};
};

const char* kFunction[] = {"sparseAlltoall", "sparseReduceScatter"};

std::vector<Difference> differences_of_bounds(bool reduces) {
  return {
      {"bounds[2]",
       reduces,
       false,
       [](Call& c) { c.borders[2] = 51; },
       {{"bounds[2]"}, {"50"}, {"51"}}},
      {"bounds NULL",
       reduces,
       false,
       [](Call& c) { c.bounds = nullptr; },
       {{"bounds[1]"}, {"20"}, {"25"}}},
      {"bounds[0] not 0", reduces, true, [](Call& c) { c.borders[0] = 1; }, {{"bounds[0]"}, {"1"}}},
      {"bounds falling",
       reduces,
       true,
       [](Call& c) { c.borders[3] = 49; },
       {{"bounds[3]"}, {"50"}, {"49"}}},
      {"bounds beyond count",
       reduces,
       true,
       [](Call& c) { c.borders[4] = kCount + 1; },
       {{"bounds[4]"}, {"100"}, {"101"}}},
      {"bounds short of count",
       reduces,
       true,
       [](Call& c) { c.borders[4] = kCount - 1; },
       {{"bounds[4]"}, {"100"}, {"99"}}},
      {"unaligned bounds",
       reduces,
       true,
       [](Call& c) {
         c.bounds = reinterpret_cast<const std::size_t*>(
             reinterpret_cast<const char*>(c.borders.data()) + 1);
       },
       {{"bounds"}}},
      {"stream",
       reduces,
       true,
       [](Call& c) { c.stream = reinterpret_cast<sparsecollStream_t>(c.dense.data()); },
       {{"stream"}}},
      {"no recv", reduces, true, [](Call& c) { c.recv = nullptr; }, {{"recv"}}},
      {"recv->size", reduces, true, [](Call& c) { c.out.size = 3; }, {{"recv.size"}}},
      {"recv->datatype",
       reduces,
       true,
       [](Call& c) { c.out.datatype = sparsecollFloat64; },
       {{"recv.datatype"}}},
      {"no recv->values",
       reduces,
       true,
       [](Call& c) { c.out.values = nullptr; },
       {{"recv.values"}}},
      {"function",
       reduces,
       false,
       [](Call& c) { c.reduces = !c.reduces; },
       {{kFunction[0]}, {kFunction[1]}}},
  };
}

std::vector<Difference> differences_of_alltoall() {
  return {
      {"no send", false, true, [](Call& c) { c.send = nullptr; }, {{"send"}}},
      {"unsorted",
       false,
       true,
       [](Call& c) { static_cast<std::uint32_t*>(c.in.indices)[1] = 1; },
       {{"send.indices"}}},
      {"out of range",
       false,
       true,
       [](Call& c) { static_cast<std::uint32_t*>(c.in.indices)[2] = 100; },
       {{"send.indices"}}},
      {"recv's arrays are send's",
       false,
       true,
       [](Call& c) {
         c.out.values = c.in.values;
         c.out.capacity = c.in.capacity;
       },
       {{"send.values"}, {"recv.values"}}},
      {"recvcounts in recv",
       false,
       true,
       [](Call& c) {
         c.out.values = c.spare.data();
         c.recvcounts = reinterpret_cast<std::size_t*>(c.spare.data());
       },
       {{"recvcounts"}, {"recv.values"}}},
      {"unaligned recvcounts",
       false,
       true,
       [](Call& c) {
         c.recvcounts =
             reinterpret_cast<std::size_t*>(reinterpret_cast<char*>(c.counts.data()) + 4);
       },
       {{"recvcounts"}}},
      {"recv->indexType",
       false,
       true,
       [](Call& c) { c.out.indexType = sparsecollIndex64; },
       {{"recv.indexType"}}},
      {"count",
       false,
       false,
       [](Call& c) {
         c.in.count = kCount + 1;
         c.borders[4] = kCount + 1;
       },
       {{"count"}, {"100"}, {"101"}}},
      {"index type",
       false,
       false,
       [](Call& c) {
         c.in.indexType = c.out.indexType = sparsecollIndex64;
         c.in.nnz = c.in.capacity = 0;
         c.out.indices = c.spare.data();
       },
       {{"indexType"}, {"sparsecollIndex32"}, {"sparsecollIndex64"}}},
  };
}

std::vector<Difference> differences_of_reduce_scatter() {
  return {
      {"no sendbuff", true, true, [](Call& c) { c.sendbuff = nullptr; }, {{"sendbuff"}}},
      {"recv in sendbuff",
       true,
       true,
       [](Call& c) { c.out.values = c.dense.data() + 3; },
       {{"sendbuff"}, {"recv.values"}}},
      {"datatype",
       true,
       true,
       [](Call& c) { c.datatype = static_cast<sparsecollDataType_t>(99); },
       {{"datatype"}, {"99"}}},
      {"bad op", true, true, [](Call& c) { c.op = static_cast<sparsecollRedOp_t>(1); }, {{"op"}}},
      {"residual of another type",
       true,
       true,
       [](Call& c) { c.feedback = c.doubles.handle(); },
       {{"residual"}, {"datatype"}}},
      {"k", true, false, [](Call& c) { c.k = 11; }, {{"k"}, {"10"}, {"11"}}},
      {"op",
       true,
       false,
       [](Call& c) { c.op = sparsecollAvg; },
       {{"op"}, {"sparsecollSum"}, {"sparsecollAvg"}}},
      {"index type",
       true,
       false,
       [](Call& c) {
         c.out.indexType = sparsecollIndex64;
         c.out.indices = c.spare.data();
       },
       {{"indexType"}, {"sparsecollIndex32"}, {"sparsecollIndex64"}}},
  };
}

std::vector<Difference> all_differences() {
  std::vector<Difference> all = differences_of_bounds(false);
  for (const auto& more :
       {differences_of_bounds(true), differences_of_alltoall(), differences_of_reduce_scatter()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

std::string differ(const Ranks& ranks, const Difference& difference, int odd) {
  const std::string what = std::string(kFunction[difference.reduces]) + ", rank " +
                           std::to_string(odd) + ": " + difference.name;
  return ranks.run(what, [&](int rank) {
    Call call(ranks.comm(rank));
    call.reduces = difference.reduces;
    if (rank == odd) difference.apply(call);
    const std::vector<std::uint64_t> before = call.image();
    Attempt done{};
    done.result = call.run();
    done.message = sparsecollGetLastError(ranks.comm(rank));
    done.changed = call.image() != before;
    return judge(done,
                 {difference.name, !difference.reduces, difference.bad, nullptr, difference.words},
                 rank, odd);
  });
}

/// Both verbs still do what they should.
std::string good_calls(const Ranks& ranks) {
  return ranks.run("good calls", [&](int rank) {
    const std::string verdict =
        join_case(ranks.comm(rank), AlltoallCase{1, 300, SparseKind::kRandom, BoundsKind::kRandom});
    if (!verdict.empty()) return verdict;
    return join_case(ranks.comm(rank), ReduceScatterCase{1, 300, 20, Kind::kHeavyTail});
  });
}

TEST_CASE("one rank deviates from an exchange") {
  const Ranks ranks(kRanks, default_config());
  for (const Difference& difference : all_differences()) {
    for (int odd = 0; odd < kRanks; ++odd) {
      CHECK(differ(ranks, difference, odd) == "");
      REQUIRE(good_calls(ranks) == "");
    }
  }
}

TEST_CASE("borders beyond those that are named one by one are compared too") {
  const int P = 12;
  const Ranks ranks(P, default_config());
  CHECK(ranks.run("bounds of 12 ranks", [&](int rank) -> std::string {
    Call call(ranks.comm(rank));
    call.counts.assign(P, 0);
    call.recvcounts = call.counts.data();
    call.borders = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, kCount};
    if (rank == 5) call.borders[9] = 8;
    call.bounds = call.borders.data();
    const sparsecollResult_t result = call.run();
    const std::string message = sparsecollGetLastError(ranks.comm(rank));
    if (message.find("bounds") == std::string::npos) return "no word of bounds: " + message;
    return expect("the verb", result, sparsecollInvalidUsage, ranks.comm(rank));
  }) == "");
}

TEST_CASE("NULL and the borders that it stands for are the same") {
  const Ranks ranks(3, default_config());
  CHECK(ranks.run("NULL", [&](int rank) {
    Call call(ranks.comm(rank));
    call.borders = {0, 33, 66, kCount};
    call.bounds = rank == 1 ? nullptr : call.borders.data();
    return expect("the verb", call.run(), sparsecollSuccess, ranks.comm(rank));
  }) == "");
}

TEST_CASE("recvcounts can be fetched after sparseAlltoall only") {
  const Ranks ranks(2, default_config());
  CHECK(ranks.run("fetch", [&](int rank) {
    const sparsecollComm_t comm = ranks.comm(rank);
    Call call(comm);
    call.reduces = true;
    call.bounds = nullptr;
    call.k = kCount;
    call.out.capacity = 0;
    std::string verdict = expect("a small call", call.run(), sparsecollTruncated, comm);
    call.out.capacity = 50;
    if (!verdict.empty()) return verdict;
    verdict = expect("counts of a reduce-scatter",
                     sparsecollFetch(&call.out, call.counts.data(), comm, nullptr),
                     sparsecollInvalidArgument, comm);
    if (!verdict.empty()) return verdict;
    return expect("fetch", sparsecollFetch(&call.out, nullptr, comm, nullptr), sparsecollSuccess,
                  comm);
  }) == "");
}

}  // namespace
}  // namespace sparsecoll::test
