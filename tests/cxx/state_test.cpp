// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of push-sum through the C++ header, and of files of saved state.

#include <cmath>

#include "cxx/team.hpp"
#include "support/folder.hpp"

namespace sparsecoll::test {
namespace {

static_assert(std::is_nothrow_move_constructible_v<PushSum<float>>);
static_assert(std::is_nothrow_move_assignable_v<PushSum<float>>);
static_assert(!std::is_copy_constructible_v<PushSum<float>>);

TEMPLATE_TEST_CASE("estimates of push-sum converge to the mean", "", float, double) {
  for (int P = 1; P <= 4; ++P) {
    for (const int delay : {0, 2}) {
      CHECK(with_team(P, quick_config(), [P, delay](Communicator& comm) {
              using T = TestType;
              PushSumConfig config;
              config.maxDelay = delay;
              PushSum<T> state(comm, 3, config);
              std::vector<T> x(3, static_cast<T>(comm.rank())), estimate(3);
              for (int step = 0; step < 40; ++step) state.step(x, estimate);
              state.step(x);
              state.drain(x, estimate);
              const double mean = (P - 1) / 2.0, far = std::abs(double(estimate[1]) - mean);
              std::string wrong = unless(far < 1e-3, "the estimate");
              wrong += unless(std::abs(double(x[0]) / state.weight() - double(estimate[0])) < 1e-6,
                              "the weight");
              wrong += throws(sparsecollInvalidArgument, "estimate: expected 3 elements, got 2",
                              [&] { state.step(x, Span<T>(estimate.data(), 2)); });
              wrong += throws(sparsecollInvalidArgument, "x: expected 3 elements, got 2",
                              [&] { state.step(Span<T>(x.data(), 2)); });
              const bool bad = comm.rank() == 0;
              wrong += throws(bad ? sparsecollInvalidArgument : sparsecollInvalidUsage,
                              bad ? "x: expected 3 elements, got 2" : "rank 0",
                              [&] { state.drain(Span<T>(x.data(), bad ? 2 : 3)); });
              state.drain(x);
              return wrong;
            }) == "");
    }
  }
}

TEST_CASE("a push-sum state has one owner, which may outlive its communicator") {
  std::vector<Communicator> comms = Communicator::initAll(1);
  PushSum<float> one(comms[0], 2), two(std::move(one));
  CHECK(!one);
  CHECK(two.count() == 2);
  CHECK(two.weight() == 1.0);
  one = std::move(two);
  comms[0].destroy();
  CHECK(throws(sparsecollInvalidArgument, "sparsecollPushSumWeight", [&] { one.weight(); }) == "");
}

TEST_CASE("saved state can be loaded") {
  const Folder residuals, states;
  for (int P = 1; P <= 3; ++P) {
    CHECK(with_team(P, quick_config(), [&](Communicator& comm) {
            const std::vector<float> send{3, 2, 1, static_cast<float>(comm.rank())};
            std::vector<float> recv(4), x(send), estimate(4);
            Residual<float> residual(comm, 4), back(comm, 4);
            PushSum<float> state(comm, 4), again(comm, 4);
            comm.sparseAllreduce(send, recv, 1, sparsecollSum, &residual);
            state.step(x, estimate);
            residual.save(residuals.file(comm.rank()));
            state.save(states.file(comm.rank()));
            back.load(residuals.file(comm.rank()));
            again.load(states.file(comm.rank()));
            std::string wrong = same<float>("the residual", back.read(), residual.read());
            wrong += unless(again.weight() == state.weight(), "the weight");
            Residual<float> third(comm, 4);
            PushSum<float> other(comm, 4);
            third.loadFrom(residual.saveTo());
            other.loadFrom(state.saveTo());
            wrong += same<float>("the residual from memory", third.read(), residual.read());
            wrong += unless(other.weight() == state.weight(), "the weight from memory");
            wrong += throws(sparsecollInvalidArgument, "sparsecollResidualLoadFrom",
                            [&] { third.loadFrom(state.saveTo()); });
            wrong += throws(sparsecollInvalidArgument, "sparsecollPushSumLoadFrom",
                            [&] { other.loadFrom(residual.saveTo()); });
            wrong += throws(sparsecollInvalidArgument, "sparsecollResidualLoad",
                            [&] { back.load(states.file(comm.rank())); });
            wrong += throws(sparsecollSystemError, "sparsecollPushSumSave",
                            [&] { state.save("/no/such/folder/file"); });
            return wrong;
          }) == "");
  }
}

}  // namespace
}  // namespace sparsecoll::test
