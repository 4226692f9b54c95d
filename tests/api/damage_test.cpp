// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Inverts single bytes of the messages of a call, one byte in each run. With checksums the call
// must report an error and never give a wrong result. Without checksums the result may be wrong,
// but the call must end and corrupt nothing else.

#include "api/communicators.hpp"
#include "support/catch.hpp"
#include "support/longer_deadlines.hpp"
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

/// Makes the call on all ranks and returns their reports.
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

/// Returns the sizes of the messages that each rank sends.
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

/// The byte that is inverted: its sender, the number of the message and its position in the
/// message.
struct DamagedByte {
  int sender;
  size_t message;
  size_t byte;
};

std::vector<Report> with_damage(const Step<float>& step, int P, const DamagedByte& damage,
                                bool check) {
  const auto plan = [damage](int sender, int, size_t number) {
    MessageFault fault;
    if (sender == damage.sender && number == damage.message) fault.corrupt_byte = damage.byte;
    return fault;
  };
  Communicators ranks(P, config_of(step.task, check ? 20000 : 60), plan, check);
  return make_calls(ranks, step);
}

/// With checksums, some receiver detects the damage and informs the other ranks, so that none waits
/// for its deadline.
std::string check_with_checksums(const std::vector<Report>& reports) {
  bool detected = false;
  for (const Report& report : reports) {
    detected = detected || report.result == sparsecollRemoteError;
    const bool known = report.result == sparsecollSuccess || report.result == sparsecollRemoteError;
    if (!known || !report.wrong.empty() || report.seconds > 10) return describe(report);
  }
  return detected ? "" : "no rank detected the damage";
}

/// Without checksums, each call ends in time, and an error does not change the residual.
std::string check_without_checksums(const std::vector<Report>& reports) {
  for (const Report& report : reports) {
    // sparsecollTruncated completes the operation with the data that was received.
    const bool error = report.result != sparsecollSuccess && report.result != sparsecollTruncated;
    if ((error && report.changed) || report.result == sparsecollInternalError)
      return describe(report);
  }
  for (const Report& report : reports)
    if (report.seconds > 0.06 + test::patience()) return "late: " + describe(report);
  return "";
}

void damage_everything(const Task& task, int P, bool check, size_t stride) {
  const Step<float> step = make_step(task, first_residuals<float>(task, P));
  const Sizes sizes = message_sizes(step, P);
  for (int sender = 0; sender < P; ++sender) {
    const std::vector<size_t>& own = sizes[static_cast<size_t>(sender)];
    for (size_t number = 0; number < own.size(); ++number) {
      for (size_t byte = 0; byte < own[number]; byte += byte < 160 ? 1 + stride / 8 : stride) {
        const std::string wrong = test::unless_late_by_chance([&] {
          const auto reports = with_damage(step, P, {sender, number, byte}, check);
          return check ? check_with_checksums(reports) : check_without_checksums(reports);
        });
        INFO(describe(task, P) << ": byte " << byte << " of message " << number << " of rank "
                               << sender);
        REQUIRE(wrong == "");
      }
    }
  }
}

const std::vector<test::Mode> kModes{test::kAllgather,    test::kOktopk,  test::kTopkA2A,
                                     test::kHierarchical, test::kSharded, test::kDense,
                                     test::kGtopk};

// A run for each byte is expensive. The test with two ranks in dense form, which has every kind of
// message, tries every byte. The others try every fourth byte of the headers and every 31st of the
// rest; 31 is no multiple of the size of a field.

TEST_CASE("a damaged byte is detected, in dense form") {
  for (const test::Mode& mode : kModes) {
    damage_everything(task_of(mode, false, 9), 2, true, test::small_run() ? 97 : 1);
    damage_everything(task_of(mode, false, 9), 3, true, test::small_run() ? 97 : 31);
  }
}

TEST_CASE("a damaged byte is detected, in coordinate form") {
  for (const test::Mode& mode : kModes) {
    if (!test::has_coordinate_form(mode)) continue;
    damage_everything(task_of(mode, true, 9), 2, true, test::small_run() ? 97 : 31);
    damage_everything(task_of(mode, true, SPARSECOLL_ALL), 2, true, test::small_run() ? 97 : 31);
  }
}

TEST_CASE("without checksums a damaged byte blocks no call, and errors change no residual") {
  for (const test::Mode& mode : kModes) {
    damage_everything(task_of(mode, false, 9), 2, false, test::small_run() ? 97 : 11);
    if (!test::has_coordinate_form(mode)) continue;
    damage_everything(task_of(mode, true, SPARSECOLL_ALL), 2, false, test::small_run() ? 97 : 11);
  }
}

}  // namespace
}  // namespace sparsecoll::unit
