// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests calls in which one rank deviates, in every possible way. All ranks get the documented
// errors, nothing is changed, and the communicator stays usable.

#include <algorithm>
#include <thread>

#include "support/catch.hpp"
#include "support/deviations.hpp"
#include "support/longer_deadlines.hpp"
#include "support/sweep.hpp"

namespace sparsecoll::test {
namespace {

using std::chrono::milliseconds;

/// Makes good calls of the shape from which one rank deviates later.
std::string warm_up(const Ranks& ranks, const Mode& mode, int calls) {
  return ranks.run("good calls before the misuse", [&](int rank) {
    Tensor tensor(ranks.comm(rank), rank, nullptr);
    for (int call = 0; call < calls; ++call) {
      const bool form = has_coordinate_form(mode) && call % 2 == 1;
      const Attempt done = attempt(tensor, tensor.usual(form, mode.verb));
      if (done.result != sparsecollSuccess) return explain(done.result, ranks.comm(rank));
    }
    return std::string();
  });
}

std::string check_timing(const std::vector<Attempt>& done) {
  auto last_start = done[0].start;
  auto last_end = done[0].end;
  for (const Attempt& one : done) {
    last_start = std::max(last_start, one.start);
    last_end = std::max(last_end, one.end);
    if (one.sequence != done[0].sequence) return "ranks count calls differently";
  }
  const std::chrono::duration<double> took = last_end - last_start;
  return wrong_or_late("", took.count(), patience());
}

/// Makes the usual call on all ranks except `odd`, which deviates.
std::string deviate_once(const Ranks& ranks, const Mode& mode, const Deviation& deviation, int odd,
                         sparsecollResidual_t foreign) {
  std::vector<Attempt> done(ranks.comms().size());
  const std::string what = std::string(mode.name) + " P=" + std::to_string(ranks.size()) +
                           " rank " + std::to_string(odd) + " deviates: " + deviation.name;
  std::string verdict = ranks.run(what, [&](int rank) {
    Tensor tensor(ranks.comm(rank), rank, foreign);
    Arguments arguments = tensor.usual(deviation.coordinate_form, mode.verb);
    if (rank == odd) deviation.apply(arguments, tensor);
    // The odd rank is first, or last, or all ranks call at the same time.
    const int order = (odd + static_cast<int>(deviation.name[0])) % 3;
    if ((rank == odd && order == 1) || (rank != odd && order == 2)) {
      std::this_thread::sleep_for(milliseconds(2));
    }
    Attempt& mine = done[static_cast<std::size_t>(rank)];
    mine = attempt(tensor, arguments);
    return judge(mine, deviation, rank, odd);
  });
  if (verdict.empty()) verdict = check_timing(done);
  return verdict.empty() ? "" : what + ": " + verdict;
}

std::string deviate(const Ranks& ranks, const Mode& mode, const Deviation& deviation, int odd,
                    sparsecollResidual_t foreign) {
  return unless_late_by_chance([&] { return deviate_once(ranks, mode, deviation, odd, foreign); });
}

/// Makes a good call of either form and compares it with the oracle.
std::string good_call(const Ranks& ranks, const Mode& mode, bool coordinate_form) {
  if (coordinate_form) return run_case(ranks, SparseCase{1, mode, 300, 9, SparseKind::kRandom});
  return run_case(ranks, Case{1, mode, 300, 9, Kind::kHeavyTail});
}

void deviate_everywhere(const Mode& mode, int P) {
  const Ranks ranks(P, config_of(mode));
  const Ranks other(1, default_config());
  const Residual<float> foreign(other.comm(0), Tensor::kLength);
  REQUIRE(warm_up(ranks, mode, small_run() ? 20 : 500) == "");
  for (const Deviation& deviation : all_deviations()) {
    // Dense has no coordinate form, so that choosing it is a bad argument.
    const bool form = deviation.coordinate_form || std::string(deviation.name) == "form";
    if (form && !has_coordinate_form(mode)) continue;
    for (int odd = 0; odd < P; ++odd) {
      const std::string verdict = deviate(ranks, mode, deviation, odd, foreign.handle());
      CHECK(verdict == "");
      const std::string after = good_call(ranks, mode, deviation.coordinate_form);
      INFO("after rank " << odd << " deviated: " << deviation.name);
      // If the communicator does not work any more, the further cases show nothing.
      REQUIRE(after == "");
    }
  }
}

TEST_CASE("one rank deviates, P = 2") {
  for (const Mode& mode : {kAuto, kAllgather, kOktopk, kTopkA2A, kHierarchical, kDense, kGtopk})
    deviate_everywhere(mode, 2);
}

TEST_CASE("one rank deviates, P = 3") {
  for (const Mode& mode : {kAllgather, kOktopk, kHierarchical, kGtopk}) deviate_everywhere(mode, 3);
}

TEST_CASE("one rank deviates, P = 5") {
  for (const Mode& mode : {kAllgather, kOktopk, kHierarchical, kGtopk}) deviate_everywhere(mode, 5);
}

/// Makes the usual call on rank 0 of four; each of the others deviates in its own way.
std::string deviate_together(const Ranks& ranks, const Mode& mode) {
  std::vector<Attempt> done(ranks.comms().size());
  const std::string wrong = ranks.run(mode.name, [&](int rank) -> std::string {
    Tensor tensor(ranks.comm(rank), rank, nullptr);
    Arguments arguments = tensor.usual(false, mode.verb);
    if (rank == 1) arguments.send = nullptr;
    if (rank == 2) arguments.k = 5;
    if (rank == 3) arguments.op = static_cast<sparsecollRedOp_t>(3);
    Attempt& mine = done[static_cast<std::size_t>(rank)];
    mine = attempt(tensor, arguments);
    if (mine.changed) return "memory changed";
    return expect("the verb", mine.result,
                  rank % 2 == 1 ? sparsecollInvalidArgument : sparsecollInvalidUsage,
                  ranks.comm(rank));
  });
  return wrong.empty() ? check_timing(done) : wrong;
}

TEST_CASE("several ranks are wrong at once, each in its own way") {
  const int P = 4;
  for (const Mode& mode : {kAllgather, kOktopk, kHierarchical, kGtopk}) {
    const Ranks ranks(P, config_of(mode));
    for (int round = 0; round < 10; ++round) {
      CHECK(unless_late_by_chance([&] { return deviate_together(ranks, mode); }) == "");
      REQUIRE(good_call(ranks, mode, round % 2 == 0) == "");
    }
  }
}

TEST_CASE("all ranks pass the same bad argument") {
  const Ranks ranks(3, default_config());
  const Ranks other(1, default_config());
  const Residual<float> foreign(other.comm(0), Tensor::kLength);
  for (const Deviation& deviation : all_deviations()) {
    if (!deviation.bad) continue;
    CHECK(ranks.run(deviation.name, [&](int rank) -> std::string {
      Tensor tensor(ranks.comm(rank), rank, foreign.handle());
      Arguments arguments = tensor.usual(deviation.coordinate_form, Verb::kSparse);
      deviation.apply(arguments, tensor);
      const Attempt done = attempt(tensor, arguments);
      if (done.changed) return "memory changed";
      return expect("the verb", done.result, sparsecollInvalidArgument, ranks.comm(rank));
    }) == "");
    REQUIRE(good_call(ranks, kAuto, deviation.coordinate_form) == "");
  }
}

TEST_CASE("the v verb of a Dense or TopkA2A communicator is a bad argument") {
  const Mode mode = GENERATE(kDense, kTopkA2A);
  const Ranks ranks(3, config_of(mode));
  CHECK(ranks.run("dense v", [&](int rank) -> std::string {
    Tensor tensor(ranks.comm(rank), rank, nullptr);
    const Attempt done = attempt(tensor, tensor.usual(true, Verb::kSparse));
    if (done.changed) return "memory changed";
    return expect("the verb", done.result, sparsecollInvalidArgument, ranks.comm(rank));
  }) == "");
  CHECK(good_call(ranks, mode, false) == "");
  CHECK(good_call(ranks, {"gtopkAllreduce/conserving", Verb::kGtopk, sparsecollAlgoDense, 0},
                  true) == "");
}

TEST_CASE("one rank alone: a bad argument is refused and nothing else happens") {
  for (const Mode& mode : {kAuto, kAllgather, kOktopk, kGtopk}) {
    const Ranks ranks(1, config_of(mode));
    const Ranks other(1, default_config());
    const Residual<float> foreign(other.comm(0), Tensor::kLength);
    for (const Deviation& deviation : all_deviations()) {
      if (!deviation.bad) continue;
      CHECK(deviate(ranks, mode, deviation, 0, foreign.handle()) == "");
    }
    CHECK(good_call(ranks, mode, false) == "");
  }
}

}  // namespace
}  // namespace sparsecoll::test
