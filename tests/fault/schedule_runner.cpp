// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "fault/schedule_runner.hpp"

#include <algorithm>
#include <cstdio>

namespace sparsecoll::fault {

namespace {

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool complete(sparsecollResult_t result) {
  return result == sparsecollSuccess || result == sparsecollTruncated;
}

}  // namespace

std::string ScheduleRunner::run() {
  done_.assign(schedule_.calls(), false);
  ended_soundly_.assign(schedule_.calls(), false);
  std::string verdict =
      schedule_.waiting() == Waiting::kEach ? make_and_wait_each() : make_all_then_wait();
  if (verdict.empty()) verdict = destroy();
  return verdict;
}

double ScheduleRunner::slack(Clock::time_point start) const {
  // A call waits several times: for the messages of each round, and for ranks that wake others. On
  // a busy machine each wait adds a scheduling delay.
  constexpr double kWaits = 50;
  return environment_.slack + kWaits * environment_.delays.longest_since(start);
}

double ScheduleRunner::time_limit(Clock::time_point start) const {
  const double deadline =
      schedule_.has_short_deadline() ? schedule_.config().timeoutMs / 1000.0 : 0;
  // The deadlines of queued calls follow one another.
  const size_t deadlines = schedule_.queued() ? schedule_.calls() : 1;
  return deadline * static_cast<double>(deadlines) + slack(start);
}

ScheduleRunner::Outcome ScheduleRunner::make_call(size_t number) {
  const Clock::time_point start = Clock::now();
  const sparsecollResult_t result =
      schedule_.call(number, rank_).make(rank_, comm(), schedule_.bad_argument(number, rank_));
  const std::string message = complete(result) ? "" : sparsecollGetLastError(comm());
  return {result, start, seconds_since(start), message};
}

ScheduleRunner::Outcome ScheduleRunner::wait_for(uint64_t sequence) {
  const Clock::time_point start = Clock::now();
  const sparsecollResult_t result = sparsecollCommWait(comm(), sequence);
  const std::string message = complete(result) ? "" : sparsecollGetLastError(comm());
  return {result, start, seconds_since(start), message};
}

std::string ScheduleRunner::make_and_wait_each() {
  for (size_t number = 0; number < schedule_.calls_of(rank_); ++number) {
    Outcome outcome = make_call(number);
    if (schedule_.queued() && outcome.result == sparsecollSuccess) {
      uint64_t sequence = 0;
      sparsecollCommGetSequence(comm(), &sequence);
      outcome = wait_for(sequence);
    }
    std::string verdict = check(number, outcome, true);
    if (verdict.empty()) verdict = check_residuals(number + 1);
    if (verdict.empty()) verdict = check_sequence(number);
    if (verdict.empty()) verdict = save_and_load(number);
    if (!verdict.empty()) return text("call ", number, ": ", verdict);
  }
  return "";
}

std::string ScheduleRunner::make_all_then_wait() {
  const size_t calls = schedule_.calls_of(rank_);
  std::vector<Outcome> outcomes;
  std::vector<uint64_t> sequences(calls);
  for (size_t number = 0; number < calls; ++number) {
    outcomes.push_back(make_call(number));
    sparsecollCommGetSequence(comm(), &sequences[number]);
  }
  if (schedule_.waiting() == Waiting::kNever) {
    std::string verdict = destroy();  // completes all queued calls
    for (size_t number = 0; number < calls && verdict.empty(); ++number)
      if (!schedule_.refused(number))
        verdict = schedule_.call(number, rank_).check_output(rank_, nullptr, false);
    return verdict;
  }
  for (size_t number = 0; number < calls; ++number) {
    if (outcomes[number].result == sparsecollSuccess)
      outcomes[number] = wait_for(sequences[number]);
    const std::string verdict = check(number, outcomes[number], number + 1 == calls);
    if (!verdict.empty()) return text("call ", number, ": ", verdict);
  }
  return check_residuals(calls);
}

std::string ScheduleRunner::check(size_t number, const Outcome& outcome, bool may_fetch) {
  const std::string what = text(sparsecollGetErrorString(outcome.result), " [", outcome.message,
                                "] after ", outcome.seconds, " s");
  if (!schedule_.queued())
    environment_.over.add(outcome.seconds - schedule_.config().timeoutMs / 1000.0);
  if (outcome.seconds > time_limit(outcome.start)) return "late: " + what;
  if (!complete(outcome.result) && outcome.message.empty()) return "no message: " + what;
  std::string verdict;
  // An abort during a call may be too late for this call, but the other ranks see it.
  sparsecollResult_t asynchronous = sparsecollSuccess;
  sparsecollCommGetAsyncError(comm(), &asynchronous);
  const bool aborted = outcome.message.find("aborted by sparsecollCommAbort") != std::string::npos;
  if (first_error_ != sparsecollSuccess)
    verdict = check_poisoned(number, outcome);
  else if (complete(outcome.result))
    verdict = check_done(number, outcome, may_fetch);
  else if (schedule_.refused(number) && outcome.result == schedule_.refusal(rank_) && !aborted)
    verdict = schedule_.call(number, rank_).check_untouched(rank_);
  else
    verdict = check_fatal(number, outcome);
  if (first_error_ == sparsecollSuccess) {
    started_calls_ = number + 1;
    ended_soundly_[number] = asynchronous == sparsecollSuccess;
  }
  return verdict.empty() ? "" : verdict + ": " + what;
}

std::string ScheduleRunner::check_poisoned(size_t number, const Outcome& outcome) {
  // A queued call before the one that failed may return an error of its own.
  const bool own = schedule_.waiting() == Waiting::kEnd &&
                   (schedule_.refused(number) ? outcome.result == schedule_.refusal(rank_)
                                              : outcome.result == sparsecollTruncated &&
                                                    schedule_.call(number, rank_).truncates(rank_));
  if (outcome.result != first_error_ && !own)
    return text("after ", sparsecollGetErrorString(first_error_), " another error");
  if (!schedule_.queued() && outcome.seconds > slack(outcome.start))
    return "a poisoned communicator waits";
  // Several queued calls may have caused the error.
  if (schedule_.waiting() == Waiting::kEnd) return "";
  return schedule_.call(number, rank_).check_untouched(rank_);
}

std::string ScheduleRunner::check_done(size_t number, const Outcome& outcome, bool may_fetch) {
  done_[number] = true;
  RandomCall& call = schedule_.call(number, rank_);
  if (schedule_.refused(number)) return "succeeded although the ranks disagree";
  const bool away = schedule_.P() > 1 && number >= schedule_.calls_of(schedule_.victim());
  if (away) return "succeeded although a rank did not make the call";
  if ((outcome.result == sparsecollTruncated) != call.truncates(rank_))
    return "truncated or not, contrary to the oracle";
  // The abort may occur between the call and the fetch.
  const bool aborts = schedule_.fault_kind() == FaultKind::kAbort && rank_ == schedule_.victim();
  return call.check_output(rank_, comm(), may_fetch && !aborts);
}

std::string ScheduleRunner::check_fatal(size_t number, const Outcome& outcome) {
  first_error_ = outcome.result;
  first_failed_call_ = number;
  started_calls_ = schedule_.waiting() == Waiting::kEach ? number + 1 : schedule_.calls_of(rank_);
  const bool is_victim = rank_ == schedule_.victim();
  bool allowed = false;
  switch (outcome.result) {
    case sparsecollTimeout:
      allowed = schedule_.may_time_out();
      break;
    case sparsecollRemoteError:
      allowed = schedule_.may_see_remote_error();
      break;
    case sparsecollSystemError:
      allowed = schedule_.fault_kind() == FaultKind::kKill && is_victim;
      break;
    case sparsecollInvalidUsage:
      allowed = schedule_.fault_kind() == FaultKind::kAbort && is_victim;
      break;
    case sparsecollSuccess:
    case sparsecollUnhandledCudaError:
    case sparsecollInternalError:
    case sparsecollInvalidArgument:
    case sparsecollInProgress:
    case sparsecollTruncated:
    case sparsecollResultMaxEnum:
      break;
  }
  if (!allowed) return "this error has no cause in the schedule";
  sparsecollResult_t asynchronous = sparsecollSuccess;
  sparsecollCommGetAsyncError(comm(), &asynchronous);
  return asynchronous == first_error_ ? "" : text("the asynchronous error is ", asynchronous);
}

std::string ScheduleRunner::residual_difference(size_t calls) const {
  for (const auto& tensor : schedule_.tensors()) {
    const std::string difference = tensor->difference(rank_, calls);
    if (!difference.empty()) return difference;
  }
  return "";
}

std::string ScheduleRunner::check_residuals(size_t calls) const {
  if (first_error_ == sparsecollSuccess) return residual_difference(calls);
  // A wait for one queued call reports the failure of any queued call, so that all states since the
  // first are valid.
  std::string wrong;
  for (size_t state = first_failed_call_; state <= started_calls_; ++state) {
    const std::string difference = residual_difference(state);
    if (difference.empty()) return "";
    wrong += text("\n      not as after ", state, " calls: ", difference);
  }
  return wrong;
}

std::string ScheduleRunner::check_sequence(size_t number) {
  if (first_error_ != sparsecollSuccess) return "";
  uint64_t sequence = 0;
  sparsecollCommGetSequence(comm(), &sequence);
  const bool refused = schedule_.refused(number);
  expected_sequence_ += refused ? 1 : schedule_.call(number, rank_).collective_calls();
  const bool known = !schedule_.may_see_remote_error();
  return !known || sequence == expected_sequence_
             ? ""
             : text("the sequence number is ", sequence, " instead of ", expected_sequence_);
}

std::string ScheduleRunner::save_and_load(size_t number) {
  const auto r = static_cast<uint64_t>(rank_);
  if (test::noise(schedule_.seed(), number, r) % 16 != 0) return "";
  for (size_t t = 0; t < schedule_.tensors().size(); ++t) {
    const std::string path =
        environment_.folder.file(text(schedule_.seed(), "-", rank_, "-", number, "-", t));
    const std::string verdict = schedule_.tensors()[t]->save_and_load(rank_, path);
    std::remove(path.c_str());
    if (!verdict.empty()) return "saved and loaded: " + verdict;
  }
  return "";
}

std::string ScheduleRunner::destroy() {
  if (rank_ == schedule_.victim() && schedule_.fault_kind() == FaultKind::kFewerCalls) return "";
  const Clock::time_point start = Clock::now();
  const sparsecollResult_t result = ranks_.destroy(rank_);
  if (result != sparsecollSuccess)
    return text("destroy returned ", sparsecollGetErrorString(result));
  return seconds_since(start) > time_limit(start) ? "destroy ended late" : "";
}

}  // namespace sparsecoll::fault
