// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Single bytes of every message of a call inverted on their way: an error, never a wrong result.
// Without checksums the result may be wrong, but nothing breaks or hangs.

#include "api/communicators.hpp"
#include "support/catch.hpp"
#include "support/step.hpp"
#include "transport/recording_transport.hpp"

namespace sparsecoll::unit {
namespace {

Task task_of(const test::Mode& mode, bool coordinate_form, size_t k) {
  Task task;
  task.mode = mode;
  task.coordinate_form = coordinate_form;
  task.n = 90;
  task.k = k;
  return task;
}

sparsecollConfig_t config_of(const Task& task, int timeout_ms) {
  sparsecollConfig_t config = test::config_of(task.mode);
  config.timeoutMs = timeout_ms;
  return config;
}

/// All ranks make the call; what they say for themselves.
std::vector<Report> make_calls(Communicators& ranks, const Step<float>& step) {
  const auto residuals = test::make_residuals<float>(ranks.handles(), step.task.n, true);
  std::vector<Report> reports(residuals.size());
  const std::string verdict = ranks.run(describe(step.task, ranks.size()), [&](int rank) {
    const auto r = static_cast<size_t>(rank);
    if (sparsecollResidualWrite(residuals[r].handle(), step.before[r].data()) != sparsecollSuccess)
      return "sparsecollResidualWrite failed";
    reports[r] = make_call(step, rank, ranks.handle(rank), residuals[r]);
    return "";
  });
  if (!verdict.empty()) reports[0].wrong = verdict;
  return reports;
}

using Sizes = std::vector<std::vector<size_t>>;

/// How long the messages of each rank are.
Sizes message_sizes(const Step<float>& step, int P) {
  Sizes sizes(static_cast<size_t>(P));
  std::vector<std::unique_ptr<Transport>> transports;
  for (auto& transport : make_local_transports(P)) {
    auto& own = sizes[static_cast<size_t>(transport->rank())];
    transports.push_back(std::make_unique<RecordingTransport>(std::move(transport), own));
  }
  Communicators ranks(std::move(transports), config_of(step.task, 20000));
  for (const Report& report : make_calls(ranks, step)) {
    INFO(describe(step.task, P));
    REQUIRE(report.result == sparsecollSuccess);
    REQUIRE(report.wrong == "");
  }
  return sizes;
}

/// Which byte of which message is inverted.
struct Backend {
  int sender;
  size_t number;
  size_t byte;
};

std::vector<Report> with_damage(const Step<float>& step, int P, const Backend& backend,
                                bool check) {
  const auto plan = [backend](int sender, int, size_t number) {
    MessageFault fault;
    if (sender == backend.sender && number == backend.number) fault.corrupt_byte = backend.byte;
    return fault;
  };
  Communicators ranks(P, config_of(step.task, check ? 20000 : 60), plan, check);
  return make_calls(ranks, step);
}

/// With checksums: the receiver notices and tells the others, so that nobody waits in vain.
std::string judge_checked(const std::vector<Report>& reports) {
  bool noticed = false;
  for (const Report& report : reports) {
    noticed = noticed || report.result == sparsecollRemoteError;
    const bool known = report.result == sparsecollSuccess || report.result == sparsecollRemoteError;
    if (!known || !report.wrong.empty() || report.seconds > 10) return describe(report);
  }
  return noticed ? "" : "nobody noticed";
}

/// Without: whatever happens ends in time, and an error leaves the residual alone.
std::string judge_unchecked(const std::vector<Report>& reports) {
  for (const Report& report : reports) {
    // After Truncated the operation is done, with whatever came.
    const bool error = report.result != sparsecollSuccess && report.result != sparsecollTruncated;
    if (report.seconds > 0.06 + test::patience() || (error && report.changed) ||
        report.result == sparsecollInternalError)
      return describe(report);
  }
  return "";
}

void damage_everything(const Task& task, int P, bool check, size_t stride) {
  const Step<float> step = make_step(task, first_residuals<float>(task, P));
  const Sizes sizes = message_sizes(step, P);
  for (int sender = 0; sender < P; ++sender) {
    const std::vector<size_t>& own = sizes[static_cast<size_t>(sender)];
    for (size_t number = 0; number < own.size(); ++number) {
      for (size_t byte = 0; byte < own[number]; byte += byte < 160 ? 1 + stride / 8 : stride) {
        const auto reports = with_damage(step, P, {sender, number, byte}, check);
        const std::string wrong = check ? judge_checked(reports) : judge_unchecked(reports);
        INFO(describe(task, P) << ": byte " << byte << " of message " << number << " of rank "
                               << sender);
        REQUIRE(wrong == "");
      }
    }
  }
}

const std::vector<test::Mode> kModes{test::kAllgather,    test::kOktopk, test::kTopkA2A,
                                     test::kHierarchical, test::kDense,  test::kGtopk};

// Each byte is a call of all ranks. So all of them are tried once for each mode, dense with two
// ranks, which has every kind of message; elsewhere every fourth of the headers and every 31st, a
// number that is no multiple of any field's size, of what follows.

TEST_CASE("a damaged byte is noticed, in dense form") {
  for (const test::Mode& mode : kModes) {
    damage_everything(task_of(mode, false, 9), 2, true, test::small_run() ? 97 : 1);
    damage_everything(task_of(mode, false, 9), 3, true, test::small_run() ? 97 : 31);
  }
}

TEST_CASE("a damaged byte is noticed, in coordinate form") {
  for (const test::Mode& mode : kModes) {
    if (!test::has_coordinate_form(mode)) continue;
    damage_everything(task_of(mode, true, 9), 2, true, test::small_run() ? 97 : 31);
    damage_everything(task_of(mode, true, SPARSECOLL_ALL), 2, true, test::small_run() ? 97 : 31);
  }
}

TEST_CASE("without checksums damage breaks nothing") {
  for (const test::Mode& mode : kModes) {
    damage_everything(task_of(mode, false, 9), 2, false, test::small_run() ? 97 : 11);
    if (!test::has_coordinate_form(mode)) continue;
    damage_everything(task_of(mode, true, SPARSECOLL_ALL), 2, false, test::small_run() ? 97 : 11);
  }
}

}  // namespace
}  // namespace sparsecoll::unit
