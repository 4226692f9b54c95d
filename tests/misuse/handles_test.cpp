// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests invalid handles: NULL, destroyed and foreign ones. They reach no communicator, so that no
// peer can be notified. Peers that wait get Timeout.

#include <chrono>
#include <set>

#include "support/catch.hpp"
#include "support/deviations.hpp"
#include "support/longer_deadlines.hpp"
#include "support/sweep.hpp"

namespace sparsecoll::test {
namespace {

/// Rank `odd` calls with `handle`, the others with their own communicators.
std::string call_within(int deadline_ms, sparsecollComm_t handle, const Mode& mode, int P,
                        int odd) {
  sparsecollConfig_t config = config_of(mode);
  config.timeoutMs = deadline_ms;
  const Ranks ranks(P, config);
  return ranks.run(mode.name, [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.comm(rank);
    Tensor tensor(comm, rank, nullptr);
    Arguments arguments = tensor.usual(false, mode.verb);
    if (rank == odd) arguments.comm = handle;
    const Attempt done = attempt(tensor, arguments);
    const std::chrono::duration<double> took = done.end - done.start;
    if (rank == odd) {
      if (done.changed) return "a call with a bad handle changed memory";
      return expect("the bad handle", done.result, sparsecollInvalidArgument, nullptr);
    }
    if (took.count() > deadline_ms / 1000.0 + patience()) return "the timeout came late";
    if (!has_word(done.message, std::to_string(odd))) {
      return "the missing rank is not named: " + done.message;
    }
    // With two peers the deadline of one may pass first, which the other hears.
    if (P > 2 && done.result == sparsecollRemoteError) return "";
    return expect("the peer", done.result, sparsecollTimeout, comm);
  });
}

std::string call_with(sparsecollComm_t handle, const Mode& mode, int P, int odd) {
  return with_longer_deadlines(500, [&](int ms) { return call_within(ms, handle, mode, P, odd); });
}

TEST_CASE("a handle that is none is refused, and the peers time out") {
  sparsecollComm_t destroyed = nullptr;
  REQUIRE(sparsecollCommInitAll(&destroyed, 1, nullptr, nullptr) == sparsecollSuccess);
  REQUIRE(sparsecollCommDestroy(destroyed) == sparsecollSuccess);
  const Ranks other(1, default_config());
  const Residual<float> residual(other.comm(0), 3);
  std::vector<std::uint64_t> rubbish(64, 0);
  for (const Mode& mode : {kAllgather, kOktopk, kGtopk}) {
    CHECK(call_with(nullptr, mode, 2, 0) == "");
    CHECK(call_with(destroyed, mode, 3, 2) == "");
    CHECK(call_with(reinterpret_cast<sparsecollComm_t>(rubbish.data()), mode, 2, 1) == "");
    CHECK(call_with(reinterpret_cast<sparsecollComm_t>(residual.handle()), mode, 4, 1) == "");
  }
}

/// Checks that every function that takes a communicator refuses this one.
void check_all_refuse(sparsecollComm_t comm) {
  int number = 0;
  std::uint64_t sequence = 0;
  sparsecollResult_t error = sparsecollSuccess;
  sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
  sparsecollResidual_t residual = nullptr;
  std::vector<float> x(8, 1.0f);
  SparseBuffer<float> sparse(8, sparsecollIndex32, 8);
  SparseBuffer<float> other(8, sparsecollIndex32, 8);
  CHECK(sparsecollCommRank(comm, &number) == sparsecollInvalidArgument);
  CHECK(sparsecollCommCount(comm, &number) == sparsecollInvalidArgument);
  CHECK(sparsecollCommGetSequence(comm, &sequence) == sparsecollInvalidArgument);
  CHECK(sparsecollCommGetAsyncError(comm, &error) == sparsecollInvalidArgument);
  CHECK(sparsecollCommGetStats(comm, sparsecollStatsLast, &stats) == sparsecollInvalidArgument);
  CHECK(sparsecollGetLastError(comm) != nullptr);
  CHECK(sparsecollCommWait(comm, 0) == sparsecollInvalidArgument);
  CHECK(sparsecollCommNotify(
            comm, 0, [](void*, std::uint64_t, sparsecollResult_t) {}, nullptr) ==
        sparsecollInvalidArgument);
  CHECK(sparsecollResidualCreate(&residual, 3, sparsecollFloat32, comm) ==
        sparsecollInvalidArgument);
  CHECK(sparsecollCommAbort(comm) == sparsecollInvalidArgument);
  CHECK(sparsecollCommDestroy(comm) == sparsecollInvalidArgument);
  for (const Verb verb : {Verb::kSparse, Verb::kGtopk}) {
    CHECK(call_dense_verb<float>(verb, {x.data(), x.data(), 8, 2}, comm) ==
          sparsecollInvalidArgument);
    CHECK(call_sparse_verb(verb, {sparse.get(), other.get(), 2}, comm) ==
          sparsecollInvalidArgument);
  }
  CHECK(sparsecollTopk(x.data(), 8, 2, sparsecollFloat32, nullptr, sparse.get(), comm, nullptr) ==
        sparsecollInvalidArgument);
  CHECK(sparsecollScatter(sparse.get(), x.data(), comm, nullptr) == sparsecollInvalidArgument);
  CHECK(sparsecollScatterAt(sparse.get(), x.data(), 0, 8, comm, nullptr) ==
        sparsecollInvalidArgument);
  CHECK(sparsecollCommMeasure(comm) == sparsecollInvalidArgument);
  CHECK(sparsecollFetch(sparse.get(), nullptr, comm, nullptr) == sparsecollInvalidArgument);
}

TEST_CASE("every function refuses a destroyed communicator, again and again") {
  std::vector<sparsecollComm_t> comms(2, nullptr);
  REQUIRE(sparsecollCommInitAll(comms.data(), 2, nullptr, nullptr) == sparsecollSuccess);
  for (const sparsecollComm_t comm : comms) {
    REQUIRE(sparsecollCommDestroy(comm) == sparsecollSuccess);
  }
  for (const sparsecollComm_t comm : comms) check_all_refuse(comm);
  check_all_refuse(comms[0]);
  std::vector<std::uint64_t> rubbish(64, ~std::uint64_t{0});
  check_all_refuse(reinterpret_cast<sparsecollComm_t>(rubbish.data()));
  check_all_refuse(reinterpret_cast<sparsecollComm_t>(std::uintptr_t{1}));
}

TEST_CASE("a destroyed handle does not come to life again") {
  std::set<sparsecollComm_t> dead;
  for (int round = 0; round < 100; ++round) {
    std::vector<sparsecollComm_t> comms(2, nullptr);
    REQUIRE(sparsecollCommInitAll(comms.data(), 2, nullptr, nullptr) == sparsecollSuccess);
    for (const sparsecollComm_t comm : comms) CHECK(dead.count(comm) == 0);
    for (const sparsecollComm_t old : dead) {
      int rank = 0;
      CHECK(sparsecollCommRank(old, &rank) == sparsecollInvalidArgument);
    }
    for (const sparsecollComm_t comm : comms) {
      REQUIRE(sparsecollCommDestroy(comm) == sparsecollSuccess);
      dead.insert(comm);
    }
  }
}

/// Checks that every function that takes a residual refuses this one.
void check_all_refuse(sparsecollResidual_t residual) {
  std::vector<float> values(8);
  void* pointer = nullptr;
  CHECK(sparsecollResidualRead(residual, values.data()) == sparsecollInvalidArgument);
  CHECK(sparsecollResidualWrite(residual, values.data()) == sparsecollInvalidArgument);
  CHECK(sparsecollResidualScale(residual, 0.5) == sparsecollInvalidArgument);
  CHECK(sparsecollResidualPointer(residual, &pointer) == sparsecollInvalidArgument);
  std::size_t bytes = 0;
  CHECK(sparsecollResidualSaveTo(residual, nullptr, &bytes) == sparsecollInvalidArgument);
  CHECK(sparsecollResidualLoadFrom(residual, values.data(), 8) == sparsecollInvalidArgument);
  CHECK(sparsecollResidualDestroy(residual) == sparsecollInvalidArgument);
}

TEST_CASE("destroyed residuals, and those of a destroyed communicator, are refused") {
  Ranks ranks(1, default_config());
  sparsecollResidual_t first = nullptr;
  sparsecollResidual_t second = nullptr;
  const sparsecollComm_t comm = ranks.comm(0);
  REQUIRE(sparsecollResidualCreate(&first, 8, sparsecollFloat32, comm) == sparsecollSuccess);
  REQUIRE(sparsecollResidualCreate(&second, 8, sparsecollFloat32, comm) == sparsecollSuccess);
  CHECK(sparsecollResidualDestroy(first) == sparsecollSuccess);
  check_all_refuse(first);
  REQUIRE(ranks.destroy(0) == sparsecollSuccess);
  check_all_refuse(second);
  check_all_refuse(reinterpret_cast<sparsecollResidual_t>(comm));
  std::vector<std::uint64_t> rubbish(64, 0);
  check_all_refuse(reinterpret_cast<sparsecollResidual_t>(rubbish.data()));
}

}  // namespace
}  // namespace sparsecoll::test
