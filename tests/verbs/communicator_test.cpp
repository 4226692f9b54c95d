// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of communicators of threads as objects, which are made, queried and destroyed, many at
// once.

#include <cstring>
#include <memory>
#include <set>

#include "support/catch.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

TEST_CASE("the library's version is the header's") {
  int version = 0;
  CHECK(sparsecollGetVersion(&version) == sparsecollSuccess);
  CHECK(version == SPARSECOLL_VERSION);
  CHECK(sparsecollGetVersion(nullptr) == sparsecollInvalidArgument);
}

TEST_CASE("every communicator knows its rank and P, and starts without error") {
  for (int P = 1; P <= 16; ++P) {
    const Ranks ranks(P, default_config());
    for (int rank = 0; rank < P; ++rank) {
      int got_rank = -1;
      int got_count = -1;
      std::uint64_t sequence = 99;
      sparsecollResult_t error = sparsecollTimeout;
      const sparsecollComm_t comm = ranks.comm(rank);
      CHECK(sparsecollCommRank(comm, &got_rank) == sparsecollSuccess);
      CHECK(sparsecollCommCount(comm, &got_count) == sparsecollSuccess);
      CHECK(sparsecollCommGetSequence(comm, &sequence) == sparsecollSuccess);
      CHECK(sparsecollCommGetAsyncError(comm, &error) == sparsecollSuccess);
      CHECK(std::strcmp(sparsecollGetLastError(comm), "") == 0);
      CHECK(got_rank == rank);
      CHECK(got_count == P);
      CHECK(sequence == 0);
      CHECK(error == sparsecollSuccess);
    }
  }
}

TEST_CASE("defaults and explicit host devices work") {
  sparsecollComm_t comms[3] = {};
  CHECK(sparsecollCommInitAll(comms, 3, nullptr, nullptr) == sparsecollSuccess);
  for (const sparsecollComm_t comm : comms) CHECK(sparsecollCommDestroy(comm) == sparsecollSuccess);
  const int devices[3] = {SPARSECOLL_DEVICE_HOST, SPARSECOLL_DEVICE_HOST, SPARSECOLL_DEVICE_HOST};
  CHECK(sparsecollCommInitAll(comms, 3, devices, nullptr) == sparsecollSuccess);
  for (const sparsecollComm_t comm : comms) CHECK(sparsecollCommDestroy(comm) == sparsecollSuccess);
}

TEST_CASE("the sequence number counts collective calls, on every rank alike") {
  const Ranks ranks(3, default_config());
  for (std::uint64_t call = 1; call <= 5; ++call) {
    const Case c{call, call % 2 == 0 ? kGtopk : kAuto, 10, 2};
    CHECK(run_case(ranks, c) == "");
    for (const sparsecollComm_t comm : ranks.comms()) {
      std::uint64_t sequence = 0;
      CHECK(sparsecollCommGetSequence(comm, &sequence) == sparsecollSuccess);
      CHECK(sequence == call);
    }
  }
}

TEST_CASE("handles are distinct, and made and destroyed a thousand times") {
  for (int round = 0; round < (small_run() ? 20 : 250); ++round) {
    const Ranks ranks(4, default_config());
    CHECK(std::set<sparsecollComm_t>(ranks.comms().begin(), ranks.comms().end()).size() == 4);
    if (round % 10 == 0) CHECK(run_case(ranks, Case{1, kOktopk, 50, 5}) == "");
  }
}

TEST_CASE("ranks destroy their communicators from their own threads, in any order") {
  for (int round = 0; round < 20; ++round) {
    Ranks ranks(4, default_config());
    CHECK(ranks.run("destroy", [&](int rank) {
      std::vector<float> x(20, static_cast<float>(rank));
      const DenseCall<float> c{x.data(), x.data(), 20, 3};
      const sparsecollComm_t comm = ranks.comm(rank);
      const std::string verdict =
          expect("the verb", call_dense_verb(Verb::kGtopk, c, comm), sparsecollSuccess, comm);
      // The fastest rank is gone while slower ones may still unpack what it sent.
      if (!verdict.empty()) return verdict;
      return expect("destroy", ranks.destroy(rank), sparsecollSuccess, nullptr);
    }) == "");
  }
}

TEST_CASE("different communicators work in parallel") {
  const int groups = 4;
  const int P = 3;
  std::vector<std::unique_ptr<Ranks>> all;
  for (int group = 0; group < groups; ++group) {
    all.push_back(std::make_unique<Ranks>(P, config_of(kTopkModes[group])));
  }
  const std::size_t n = 200;
  CHECK(run_threads("parallel", groups * P, [&](int thread) -> std::string {
          const int group = thread / P;
          const int rank = thread % P;
          const Ranks& ranks = *all[static_cast<std::size_t>(group)];
          const Mode& mode = kTopkModes[group];
          for (std::uint64_t call = 0; call < (small_run() ? 20 : 100); ++call) {
            const std::uint64_t seed = call * 10 + static_cast<unsigned>(group);
            const oracle::DenseInputs<double> in{
                make_data_of_all<double>(Kind::kHeavyTail, n, P, seed), {}};
            std::vector<double> recv(n);
            const DenseCall<double> c{in.sends[static_cast<std::size_t>(rank)].data(), recv.data(),
                                      n, 9};
            const sparsecollResult_t result = call_dense_verb(mode.verb, c, ranks.comm(rank));
            if (result != sparsecollSuccess) return explain(result, ranks.comm(rank));
            if (recv != expected(mode, in, 9, oracle::Op::kSum).result) return "a wrong result";
          }
          return "";
        }) == "");
}

}  // namespace
}  // namespace sparsecoll::test
