// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Ranks over NCCL go on without one that has died: in any group of messages, with residuals as of
// one and the same call, bit for bit. Residuals that cannot be so are refused.

#include <atomic>

#include "nccl/api_team.hpp"
#include "nccl/stand_in_library.hpp"
#include "support/catch.hpp"
#include "support/longer_deadlines.hpp"
#include "support/step.hpp"

namespace sparsecoll::nccl_tests {
namespace {

using Step = unit::Step<float>;

constexpr size_t kCalls = 3;
constexpr size_t kLength = 120;
constexpr size_t kKept = 10;

sparsecollConfig_t quick(const test::Mode& mode, int timeout_ms, int blocking) {
  sparsecollConfig_t config = test::config_of(mode);
  config.timeoutMs = timeout_ms;
  config.blocking = blocking;
  return config;
}

/// The rank `victim` dies in the group of messages with this number.
struct Case {
  const std::vector<Step>* steps;
  int P;
  int victim;
  size_t group;
  size_t queued = 1;  ///< calls after the first one that a rank queues before it waits for them
  int blocking = 1;
};

std::vector<Step> make_steps(const test::Mode& mode, int P) {
  unit::Task task;
  task.mode = mode;
  task.n = kLength;
  task.k = kKept;
  std::vector<Step> steps;
  for (size_t call = 0; call < kCalls; ++call) {
    task.seed = 10 + call;
    steps.push_back(unit::make_step(
        task, steps.empty() ? unit::first_residuals<float>(task, P) : steps.back().after));
  }
  return steps;
}

/// The residuals of the ranks that remain, as they are after so many calls of all.
unit::Residuals<float> remaining_after(const Case& c, uint64_t calls) {
  calls = std::min<uint64_t>(calls, kCalls);
  unit::Residuals<float> all = calls == 0 ? c.steps->front().before : (*c.steps)[calls - 1].after;
  all.erase(all.begin() + c.victim);
  return all;
}

/// The tensors of one rank.
struct Vectors {
  explicit Vectors(sparsecollComm_t comm) : in(kLength), out(kLength), residual(comm, kLength) {}

  sparsecollResult_t call(const Step& step, size_t rank, sparsecollComm_t comm) {
    in.put(step.dense[rank], stream);
    const auto verb = step.task.mode.verb == test::Verb::kGtopk ? gtopkAllreduce : sparseAllreduce;
    return verb(in.get(), out.get(), kLength, kKept, sparsecollFloat32, sparsecollSum,
                residual.handle(), comm, stream);
  }

  DeviceArray<float> in, out;
  test::Residual<float> residual;
  OwnStream stream;
};

class Run {
 public:
  Run(const Case& chosen, int timeout_ms)
      : c_(chosen), team_(c_.P, quick(c_.steps->front().task.mode, timeout_ms, c_.blocking)) {
    tensors_.resize(static_cast<size_t>(c_.P));
    const std::string wrong = team_.run("residuals", [&](int rank) {
      const auto r = static_cast<size_t>(rank);
      tensors_[r] = std::make_unique<Vectors>(team_.comm(rank));
      tensors_[r]->residual.write(c_.steps->front().before[r]);
      return std::string();
    });
    if (!wrong.empty()) throw std::runtime_error(wrong);
    nccl_stand_in::die_in_group(last_child_of(team_.user_comms()[c_.victim]), c_.group);
  }

  std::string run() {
    return team_.run(text(c_.steps->front().task.mode.name, ", P ", c_.P, ", rank ", c_.victim,
                          " dies in group ", c_.group, ", ", c_.queued, " queued; "),
                     [&](int rank) { return go_on(rank); });
  }

 private:
  /// Makes calls until the victim is missed.
  void call_until_failure(int rank) {
    const auto r = static_cast<size_t>(rank);
    const sparsecollComm_t comm = team_.comm(rank);
    sparsecollResult_t result = sparsecollSuccess;
    for (size_t call = 0; call < kCalls && result == sparsecollSuccess; ++call) {
      result = tensors_[r]->call((*c_.steps)[call], r, comm);
      if (result == sparsecollSuccess && call % c_.queued == 0)
        result = sparsecollCommSynchronize(comm);
    }
    const DeviceArray<float> one(1), sum(1);
    while (result == sparsecollSuccess) {
      result = gtopkAllreduce(one.get(), sum.get(), 1, 1, sparsecollFloat32, sparsecollSum, nullptr,
                              comm, tensors_[r]->stream);
      if (result == sparsecollSuccess) result = sparsecollCommSynchronize(comm);
    }
  }

  std::string go_on(int rank) {
    const auto r = static_cast<size_t>(rank);
    call_until_failure(rank);
    if (rank == c_.victim) return "";
    const sparsecollComm_t comm = team_.comm(rank);
    sparsecollComm_t shrunk = nullptr;
    const int excluded[] = {c_.victim, c_.victim};
    std::string wrong = result_mismatch(sparsecollCommShrink(comm, excluded, 2, &shrunk, nullptr),
                                        sparsecollSuccess, comm);
    if (!wrong.empty()) return wrong;
    const uint64_t committed = sequence_of(shrunk);
    int expected = 0;
    const int mine = static_cast<int>(committed) + 1;
    if (!committed_plus_1_.compare_exchange_strong(expected, mine) && expected != mine)
      wrong += "ranks differ on the last committed call; ";
    wrong += result_mismatch(sparsecollResidualMove(tensors_[r]->residual.handle(), shrunk),
                             sparsecollSuccess, shrunk);
    const unit::Residuals<float> remaining = remaining_after(c_, committed);
    const size_t place = rank > c_.victim ? r - 1 : r;
    if (wrong.empty())
      wrong += test::difference(text("residual after call ", committed),
                                tensors_[r]->residual.read(), remaining[place]);
    wrong += destroy_mismatch(team_.destroy(rank));
    if (wrong.empty()) wrong += next_call(remaining, place, r, shrunk);
    return wrong + destroy_mismatch(sparsecollCommDestroy(shrunk));
  }

  /// Makes a call of the ranks that remain.
  std::string next_call(const unit::Residuals<float>& residuals, size_t place, size_t r,
                        sparsecollComm_t comm) {
    unit::Task task = c_.steps->front().task;
    task.seed = 77;
    const Step next = unit::make_step(task, residuals);
    sparsecollResult_t result = tensors_[r]->call(next, place, comm);
    if (result == sparsecollSuccess) result = sparsecollCommSynchronize(comm);
    return result_mismatch(result, sparsecollSuccess, comm) +
           test::difference("the next result", tensors_[r]->out.read(tensors_[r]->stream),
                            next.dense_result) +
           test::difference("the next residual", tensors_[r]->residual.read(), next.after[place]);
  }

  const Case c_;
  std::vector<std::unique_ptr<Vectors>> tensors_;
  Team team_;
  std::atomic<int> committed_plus_1_{0};
};

std::string check(const Case& c) {
  return test::with_longer_deadlines(800, [&](int timeout_ms) {
    std::string wrong;
    {
      Run run(c, timeout_ms);
      wrong = run.run();
    }
    return wrong + nccl_stand_in::leftovers();
  });
}

/// Lets the first and the last rank die in these groups.
void die_in_groups(const std::vector<size_t>& groups, const std::vector<test::Mode>& modes,
                   size_t queued, int blocking = 1) {
  for (const test::Mode& mode : modes)
    for (const int P : {2, 3, 5}) {
      const std::vector<Step> steps = make_steps(mode, P);
      for (const int victim : {0, P - 1})
        for (const size_t group : groups)
          CHECK(check({&steps, P, victim, group, queued, blocking}) == "");
    }
}

std::vector<size_t> some_groups() {
  return test::small_run() ? std::vector<size_t>{1, 3} : std::vector<size_t>{1, 2, 3, 5};
}

TEST_CASE("residuals move as of one committed call, in whichever group a rank dies") {
  die_in_groups(some_groups(), {test::kGtopk, test::kAllgather, test::kOktopk}, 1);
}

TEST_CASE("they do so with queued calls") { die_in_groups(some_groups(), {test::kGtopk}, 1, 0); }

TEST_CASE("they do so with two calls queued on the stream, neither of which has ended") {
  // The first call takes a few groups more than the others, because its shape is new.
  die_in_groups(
      test::small_run() ? std::vector<size_t>{4, 6} : std::vector<size_t>{3, 4, 5, 6, 7, 8},
      {test::kGtopk}, 2);
}

}  // namespace
}  // namespace sparsecoll::nccl_tests
