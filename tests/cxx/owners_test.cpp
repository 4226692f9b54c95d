// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of ownership: moves, early destruction, and exceptions.

#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <thread>
#include <type_traits>

#include "cxx/team.hpp"
#include "support/folder.hpp"

namespace sparsecoll::test {
namespace {

static_assert(std::is_nothrow_move_constructible_v<Communicator>);
static_assert(std::is_nothrow_move_assignable_v<Communicator>);
static_assert(!std::is_copy_constructible_v<Communicator>);
static_assert(!std::is_copy_assignable_v<Communicator>);
static_assert(std::is_nothrow_move_constructible_v<Residual<float>>);
static_assert(std::is_nothrow_move_assignable_v<Residual<float>>);
static_assert(!std::is_copy_constructible_v<Residual<float>>);
static_assert(!std::is_copy_assignable_v<Residual<float>>);
static_assert(std::is_nothrow_destructible_v<Communicator>);
static_assert(std::is_copy_constructible_v<SparseVector<double>>);
static_assert(std::is_nothrow_move_constructible_v<SparseVector<double>>);
static_assert(std::is_base_of_v<std::runtime_error, Truncated>);

bool is_valid(sparsecollComm_t handle) {
  int rank = 0;
  return sparsecollCommRank(handle, &rank) == sparsecollSuccess;
}

bool is_valid(sparsecollResidual_t handle) {
  return sparsecollResidualScale(handle, 1.0) == sparsecollSuccess;
}

TEST_CASE("initNccl() refuses a null communicator") {
  std::string words;
  sparsecollResult_t code = sparsecollSuccess;
  try {
    Communicator::initNccl(nullptr);
  } catch (const Error& error) {
    code = error.code();
    words = error.what();
  }
  // A library without NCCL refuses every argument.
  CHECK((code == sparsecollInvalidArgument || code == sparsecollInvalidUsage));
  CHECK(words.find("sparsecollCommInitNccl: nccl: ") != std::string::npos);
}

TEST_CASE("a communicator has one owner") {
  std::vector<Communicator> comms = Communicator::initAll(2);
  REQUIRE(comms.size() == 2);
  CHECK(comms[0].rank() == 0);
  CHECK(comms[1].rank() == 1);
  CHECK(comms[1].size() == 2);
  const sparsecollComm_t first = comms[0].get(), second = comms[1].get();
  Communicator moved(std::move(comms[0]));
  CHECK(!comms[0]);
  CHECK(moved.get() == first);
  moved = std::move(comms[1]);  // destroys the first
  CHECK(!is_valid(first));
  CHECK(moved.get() == second);
  Communicator& same = moved;
  moved = std::move(same);
  CHECK(moved.get() == second);
  {
    const Communicator last(std::move(moved));
    CHECK(is_valid(second));
  }
  CHECK(!is_valid(second));
  CHECK(throws(sparsecollInvalidArgument, "sparsecollCommRank", [&] { moved.rank(); }) == "");
  CHECK(throws(sparsecollInvalidArgument, "sparsecollCommStreamWait",
               [&] { moved.streamWait(nullptr); }) == "");
}

TEST_CASE("destroy() and release() leave an empty object") {
  std::vector<Communicator> comms = Communicator::initAll(1);
  const sparsecollComm_t handle = comms[0].release();
  CHECK(!comms[0]);
  CHECK(is_valid(handle));
  Communicator again(handle);
  again.destroy();
  CHECK(!again);
  CHECK(!is_valid(handle));
  CHECK(throws(sparsecollInvalidArgument, "", [&] { again.destroy(); }) == "");
}

TEST_CASE("a failed init throws the library's message") {
  Config config;
  config.algorithm = 77;
  CHECK(throws(sparsecollInvalidArgument, "algorithm", [&] { Communicator::initAll(2, config); }) ==
        "");
  CHECK(throws(sparsecollInvalidArgument, "sparsecollCommInitAll",
               [] { Communicator::initAll(0); }) == "");
  CHECK(throws(sparsecollInvalidArgument, "sparsecollCommInitAll",
               [] { Communicator::initAll(-3); }) == "");
}

TEST_CASE("communicators start without a launcher") {
  const sparsecollUniqueId id = Communicator::uniqueId();
  CHECK(throws(sparsecollInvalidArgument, "rank", [&] { Communicator::initRank(1, id, 1); }) == "");
  const auto copy = [](const void* mine, void* all, std::size_t bytes) {
    std::memcpy(all, mine, bytes);
  };
  const auto refuse = [](const void*, void*, std::size_t) { throw std::runtime_error("no store"); };
  try {
    CHECK(Communicator::initRank(1, id, 0).size() == 1);
    CHECK(Communicator::initOob(1, 0, copy).size() == 1);
    CHECK_THROWS_AS(Communicator::initOob(1, 0, refuse), std::runtime_error);
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("UCX") != std::string::npos);  // built without it
  }
  // The program is static, and linked without it.
  CHECK(throws(sparsecollInvalidUsage, "MPI", [] { Communicator::initMpiFint(0); }) == "");
}

TEST_CASE("a residual has one owner, which may outlive its communicator") {
  std::vector<Communicator> comms = Communicator::initAll(1);
  Residual<double> residual(comms[0], 3);
  const sparsecollResidual_t handle = residual.get();
  CHECK(residual.count() == 3);
  CHECK(residual.read() == std::vector<double>{0, 0, 0});
  residual.write(std::vector<double>{1, 2, 4});
  residual.scale(0.5);
  CHECK(residual.read() == std::vector<double>{0.5, 1, 2});
  CHECK(residual.pointer()[2] == 2);
  CHECK(throws(sparsecollInvalidArgument, "src: expected 3 elements, got 2", [&] {
          residual.write(std::vector<double>{1, 2});
        }) == "");
  CHECK(throws(sparsecollInvalidArgument, "factor", [&] { residual.scale(HUGE_VAL); }) == "");

  Residual<double> moved(std::move(residual));
  CHECK(!residual);
  CHECK(moved.get() == handle);
  moved = Residual<double>(comms[0], 5);  // frees the first
  CHECK(!is_valid(handle));
  CHECK(moved.count() == 5);
  comms[0].destroy();
  CHECK(!is_valid(moved.get()));
  // The message of an earlier error is not used.
  CHECK(throws(sparsecollInvalidArgument, "sparsecollResidualRead", [&] { moved.read(); }) == "");
}

TEST_CASE("an error of a verb has a code and a message, and the communicator stays usable") {
  CHECK(with_team(2, quick_config(), [](Communicator& comm) {
          std::vector<float> x(8, 1.0f);
          std::string wrong = throws(sparsecollInvalidUsage, "ranks disagree on k", [&] {
            comm.sparseAllreduce(x, x, comm.rank() == 0 ? 2u : 3u);
          });
          wrong += unless(comm.lastError().find("ranks disagree on k") != std::string::npos,
                          "lastError");
          comm.sparseAllreduce(x, x, 8);
          wrong += unless(x[7] == 2.0f, "the sum");
          wrong += unless(comm.stats().algorithm != sparsecollAlgoAuto, "stats");
          wrong += unless(comm.topology().levels >= 1, "topology");
          wrong += unless(comm.sequence() == 2, "sequence");
          return wrong;
        }) == "");
}

TEST_CASE("a peer that left is a fatal error") {
  std::vector<Communicator> comms = Communicator::initAll(2, quick_config());
  comms[1].destroy();
  std::vector<float> x(8, 1.0f);
  try {
    comms[0].sparseAllreduce(x, x, 8);
    FAIL("the call succeeded without its peer");
  } catch (const Error& error) {
    CHECK(error.code() == sparsecollRemoteError);
    CHECK(error.fatal());
  }
  CHECK(comms[0].asyncError() == sparsecollRemoteError);
  CHECK_THROWS_AS(comms[0].dump(), Error);  // no variable names a file
  const Folder folder;
  comms[0].dump(folder.file("record"));
  CHECK(std::filesystem::exists(folder.file("record")));
}

/// Aborts a communicator while destroy() waits for a queued call. Returns whether destroy() threw:
/// it does not if a busy machine began it after the abort.
bool destroy_ended_by_abort() {
  Config config = quick_config();
  config.blocking = 0;
  std::vector<Communicator> comms = Communicator::initAll(2, config);
  std::vector<float> x(4, 1.0f), y(4);
  comms[0].sparseAllreduce(x, y, 4, sparsecollSum);  // the other rank never calls
  std::thread aborter([handle = comms[0].get()] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    sparsecollCommAbort(handle);
  });
  bool thrown = false;
  try {
    comms[0].destroy();
  } catch (const Error& error) {
    CHECK(error.code() == sparsecollInvalidUsage);
    thrown = true;
  }
  aborter.join();
  CHECK(!comms[0]);
  return thrown;
}

TEST_CASE("destroy() that an abort ends leaves an empty object") {
  bool thrown = false;
  for (int attempt = 0; attempt < 4 && !thrown; ++attempt) thrown = destroy_ended_by_abort();
  CHECK(thrown);
}

TEST_CASE("the ranks that remain go on with their residuals") {
  std::vector<Communicator> comms = Communicator::initAll(3, quick_config());
  comms[2].destroy();
  CHECK(run_threads("two of three ranks", 2, [&](int rank) -> std::string {
          Communicator& comm = comms[static_cast<std::size_t>(rank)];
          Residual<float> residual(comm, 8);
          std::string wrong = unless(comm.failed() == std::vector<int>{2}, "failed");
          Communicator two = comm.shrink();
          residual.move(two);
          comm.destroy();
          std::vector<float> x(8, 1.0f);
          two.sparseAllreduce(x, x, 8, sparsecollSum, &residual);
          wrong += unless(two.size() == 2 && x == std::vector<float>(8, 2.0f), "the sum");
          PushSum<float> state(two, 8);
          Communicator one = two.shrink({1 - rank});
          wrong += unless(one.size() == 1, "the size");
          state.move(one);
          state.step(x);
          wrong += unless(state.weight() == 1.0 && x[7] == 2.0f, "the step");
          return wrong + unless(residual.read() == std::vector<float>(8, 0.0f), "the residual");
        }) == "");
}

TEST_CASE("an exception that destroys a communicator ends the wait of its peers") {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Communicator> comms = Communicator::initAll(2, quick_config());
  CHECK(run_threads("a rank that throws", 2, [&](int rank) {
          try {
            const Communicator comm(std::move(comms[static_cast<std::size_t>(rank)]));
            if (rank == 1) throw std::runtime_error("this rank");
            std::vector<float> x(8, 1.0f);
            Communicator& mine = const_cast<Communicator&>(comm);
            return throws(sparsecollRemoteError, "rank 1", [&] { mine.sparseAllreduce(x, x, 8); });
          } catch (const std::runtime_error& error) {
            return unless(rank == 1 && std::string(error.what()) == "this rank", error.what());
          }
        }) == "");
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
}

TEST_CASE("split() creates new communicators") {
  CHECK(with_team(3, quick_config(), [](Communicator& comm) {
          const bool alone = comm.rank() == 1;
          Communicator part = comm.split(alone ? SPARSECOLL_SPLIT_NOCOLOR : 4, -comm.rank());
          if (alone) return unless(!part, "a communicator without a color");
          std::vector<float> x{static_cast<float>(comm.rank())};
          part.sparseAllreduce(x, x, 1);
          return unless(part.size() == 2 && part.rank() == (comm.rank() == 2 ? 0 : 1), "the part") +
                 unless(x[0] == 2.0f, "the sum of the part");
        }) == "");
}

TEST_CASE("abort ends a call from another thread") {
  std::vector<Communicator> comms = Communicator::initAll(2, quick_config());
  CHECK(run_threads("abort", 2, [&](int thread) {
          if (thread == 1) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            comms[0].abort();
            return std::string();
          }
          std::vector<float> x(8, 1.0f);
          return throws(sparsecollInvalidUsage, "aborted",
                        [&] { comms[0].sparseAllreduce(x, x, 8); });
        }) == "");
}

TEST_CASE("a sparse vector owns its entries") {
  SparseVector<float> one(10);
  for (std::uint32_t i = 0; i < 9; ++i) one.push_back(i, static_cast<float>(i));
  SparseVector<float> copy(one), moved;
  copy.values()[0] = 5;
  CHECK(one.values()[0] == 0);
  CHECK(copy.get()->values == copy.values().data());
  moved = std::move(one);
  CHECK(moved.nnz() == 9);
  CHECK(moved.get()->indices == moved.indices().data());
  CHECK(one.nnz() == 0);
  CHECK(one.get()->capacity == 0);
  moved.reserve(100);
  CHECK(moved.capacity() == 100);
  CHECK(moved.get()->values == moved.values().data());
  CHECK(moved.values()[8] == 8);
  moved.clear();
  CHECK(moved.nnz() == 0);
  CHECK(throws(sparsecollInvalidArgument, "values: expected 2", [] {
          SparseVector<float>(4, {1, 2}, {1.0f});
        }) == "");
}

}  // namespace
}  // namespace sparsecoll::test
