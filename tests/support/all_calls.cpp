// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "support/all_calls.hpp"

#include <chrono>
#include <thread>

#include "support/exchange_sweep.hpp"
#include "support/push_sum.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {

namespace {

/// One rank, which makes the calls.
class Caller {
 public:
  Caller(sparsecollComm_t comm, std::uint64_t seed) : comm_(comm), seed_(seed) {
    sparsecollCommRank(comm, &rank_);
    sparsecollCommCount(comm, &ranks_);
  }

  std::string verbs() {
    std::string wrong;
    for (const Mode& mode : {kAuto, kGtopk}) {
      pause();
      wrong += join_case(comm_, Case{seed_, mode, 700, 30, Kind::kHeavyTail});
      pause();
      wrong += join_case(comm_, SparseCase{seed_, mode, 900, 20, SparseKind::kRandom});
    }
    pause();
    wrong += join_case(comm_, Case{seed_, kAuto, 200'000, 100'000, Kind::kHeavyTail});
    if (queued_run()) return wrong;  // sweeps of exchanges do not wait for queued calls
    AlltoallCase alltoall;
    alltoall.seed = seed_;
    alltoall.count = 500;
    pause();
    wrong += join_case(comm_, alltoall);
    ReduceScatterCase scatter;
    scatter.seed = seed_;
    scatter.n = 500;
    scatter.k = 20;
    pause();
    return wrong + join_case(comm_, scatter);
  }

  std::string group() {
    std::vector<float> x(300, 1), y(200, 2);
    pause();
    const sparsecollResult_t result = in_group(comm_, [&] {
      for (std::vector<float>* each : {&x, &y})
        sparseAllreduce(each->data(), each->data(), each->size(), each->size(), sparsecollFloat32,
                        sparsecollSum, nullptr, comm_, nullptr);
    });
    if (result != sparsecollSuccess) return "a group: " + explain(result, comm_);
    const auto sum = static_cast<float>(ranks_);
    return x.back() == sum && y.back() == 2 * sum ? "" : "a group: another sum; ";
  }

  std::string part() {
    sparsecollComm_t part = nullptr;
    pause();
    const sparsecollResult_t split = sparsecollCommSplit(comm_, rank_ % 2, 0, &part, nullptr);
    if (split != sparsecollSuccess) return "a split: " + explain(split, comm_);
    const std::string wrong = join_case(part, Case{seed_, kAuto, 100, 10, Kind::kHeavyTail});
    const sparsecollResult_t end = sparsecollCommDestroy(part);
    return wrong + (end == sparsecollSuccess ? "" : "its end: " + explain(end, comm_));
  }

  /// Saves a residual and a push-sum state, and loads them.
  std::string states(const std::string& file) {
    constexpr std::size_t kLength = 20'000;
    const auto values = [&](int of) {
      return std::vector<float>(kLength, static_cast<float>(rank_ + of + 1));
    };
    Residual<float> residual(comm_, kLength);
    residual.write(values(0));
    const sparsecollPushSumConfig_t config = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;
    const PushSum<double> state(comm_, kLength, config);
    std::vector<double> x(kLength, 3), estimate(kLength);
    pause();
    sparsecollResult_t result = state.step(x, &estimate);
    const auto then = [&](sparsecollResult_t next) {
      if (result == sparsecollSuccess) result = next;
    };
    then(sparsecollResidualSave(residual.handle(), file.c_str()));
    residual.write(values(1));
    then(sparsecollResidualLoad(residual.handle(), file.c_str()));
    if (residual.read() != values(0)) return "another residual was loaded; ";
    then(sparsecollPushSumSave(state.handle(), file.c_str()));
    then(sparsecollPushSumLoad(state.handle(), file.c_str()));
    then(state.step(x, &estimate));
    then(state.drain(x, &estimate));
    if (result != sparsecollSuccess) return "states: " + explain(result, comm_);
    return estimate.front() == 3 && estimate.back() == 3 ? "" : "another estimate; ";
  }

 private:
  /// Sleeps for a time that differs between ranks and calls.
  void pause() {
    const std::uint64_t h = noise(seed_ * 1009 + ++pauses_, static_cast<std::uint64_t>(rank_));
    std::this_thread::sleep_for(std::chrono::microseconds(h % 4 == 0 ? 3000 + h % 5000 : 0));
  }

  const sparsecollComm_t comm_;
  const std::uint64_t seed_;
  std::uint64_t pauses_ = 0;
  int rank_ = 0, ranks_ = 1;
};

}  // namespace

std::string make_all_calls(sparsecollComm_t comm, const std::string& file, std::uint64_t seed) {
  Caller caller(comm, seed);
  std::string wrong = caller.verbs();
  if (wrong.empty()) wrong = caller.group();
  if (wrong.empty()) wrong = caller.part();
  if (wrong.empty()) wrong = caller.states(file);
  return wrong;
}

}  // namespace sparsecoll::test
