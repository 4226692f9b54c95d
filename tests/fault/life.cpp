// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "fault/life.hpp"

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

std::string Life::live() {
  done_.assign(schedule_.calls(), false);
  survived_.assign(schedule_.calls(), false);
  std::string verdict = schedule_.waiting() == Waiting::kEach ? make_each() : make_all();
  if (verdict.empty()) verdict = end();
  return verdict;
}

double Life::slack(Clock::time_point start) const {
  // A call waits a few times in a row: for the messages of its rounds, for the ranks that wake
  // others. On a machine that lets each of them wait, these waits add up.
  constexpr double kWaits = 50;
  return around_.slack + kWaits * around_.pulse.longest_since(start);
}

double Life::limit(Clock::time_point start) const {
  const double deadline = schedule_.hurried() ? schedule_.config().timeoutMs / 1000.0 : 0;
  // Queued calls have one after the other.
  const size_t deadlines = schedule_.queued() ? schedule_.calls() : 1;
  return deadline * static_cast<double>(deadlines) + slack(start);
}

Life::Answer Life::make(size_t number) {
  const Clock::time_point start = Clock::now();
  const sparsecollResult_t result =
      schedule_.call(number, rank_).make(rank_, comm(), schedule_.flaw(number, rank_));
  const std::string message = complete(result) ? "" : sparsecollGetLastError(comm());
  return {result, start, seconds_since(start), message};
}

Life::Answer Life::wait_for(uint64_t sequence) {
  const Clock::time_point start = Clock::now();
  const sparsecollResult_t result = sparsecollCommWait(comm(), sequence);
  const std::string message = complete(result) ? "" : sparsecollGetLastError(comm());
  return {result, start, seconds_since(start), message};
}

std::string Life::make_each() {
  for (size_t number = 0; number < schedule_.calls_of(rank_); ++number) {
    Answer answer = make(number);
    if (schedule_.queued() && answer.result == sparsecollSuccess) {
      uint64_t sequence = 0;
      sparsecollCommGetSequence(comm(), &sequence);
      answer = wait_for(sequence);
    }
    std::string verdict = judge(number, answer, true);
    if (verdict.empty()) verdict = check_residuals(number + 1);
    if (verdict.empty()) verdict = check_sequence(number);
    if (verdict.empty()) verdict = save_and_load(number);
    if (!verdict.empty()) return text("call ", number, ": ", verdict);
  }
  return "";
}

std::string Life::make_all() {
  const size_t calls = schedule_.calls_of(rank_);
  std::vector<Answer> answers;
  std::vector<uint64_t> sequences(calls);
  for (size_t number = 0; number < calls; ++number) {
    answers.push_back(make(number));
    sparsecollCommGetSequence(comm(), &sequences[number]);
  }
  if (schedule_.waiting() == Waiting::kNever) {
    std::string verdict = end();  // which drains the queue
    for (size_t number = 0; number < calls && verdict.empty(); ++number)
      if (!schedule_.refused(number))
        verdict = schedule_.call(number, rank_).check_output(rank_, nullptr, false);
    return verdict;
  }
  for (size_t number = 0; number < calls; ++number) {
    if (answers[number].result == sparsecollSuccess) answers[number] = wait_for(sequences[number]);
    const std::string verdict = judge(number, answers[number], number + 1 == calls);
    if (!verdict.empty()) return text("call ", number, ": ", verdict);
  }
  return check_residuals(calls);
}

std::string Life::judge(size_t number, const Answer& answer, bool fetches) {
  const std::string what = text(sparsecollGetErrorString(answer.result), " [", answer.message,
                                "] after ", answer.seconds, " s");
  if (answer.seconds > limit(answer.start)) return "late: " + what;
  if (!complete(answer.result) && answer.message.empty()) return "no message: " + what;
  std::string verdict;
  // An abort during a call may come too late for it, but the others see it.
  sparsecollResult_t asynchronous = sparsecollSuccess;
  sparsecollCommGetAsyncError(comm(), &asynchronous);
  const bool aborted = answer.message.find("aborted by sparsecollCommAbort") != std::string::npos;
  if (first_ != sparsecollSuccess)
    verdict = judge_poisoned(number, answer);
  else if (complete(answer.result))
    verdict = judge_done(number, answer, fetches);
  else if (schedule_.refused(number) && answer.result == schedule_.refusal(rank_) && !aborted)
    verdict = schedule_.call(number, rank_).check_untouched(rank_);
  else
    verdict = judge_fatal(number, answer);
  if (first_ == sparsecollSuccess) {
    entered_ = number + 1;
    survived_[number] = asynchronous == sparsecollSuccess;
  }
  return verdict.empty() ? "" : verdict + ": " + what;
}

std::string Life::judge_poisoned(size_t number, const Answer& answer) {
  // A queued call before the one that failed has an error of its own.
  const bool own = schedule_.waiting() == Waiting::kEnd &&
                   (schedule_.refused(number) ? answer.result == schedule_.refusal(rank_)
                                              : answer.result == sparsecollTruncated &&
                                                    schedule_.call(number, rank_).truncates(rank_));
  if (answer.result != first_ && !own)
    return text("after ", sparsecollGetErrorString(first_), " another error");
  if (!schedule_.queued() && answer.seconds > slack(answer.start))
    return "a poisoned communicator waits";
  // Of queued calls nobody knows which one the error was of.
  if (schedule_.waiting() == Waiting::kEnd) return "";
  return schedule_.call(number, rank_).check_untouched(rank_);
}

std::string Life::judge_done(size_t number, const Answer& answer, bool fetches) {
  done_[number] = true;
  RandomCall& call = schedule_.call(number, rank_);
  if (schedule_.refused(number)) return "done though the ranks disagree";
  const bool away = schedule_.P() > 1 && number >= schedule_.calls_of(schedule_.victim());
  if (away) return "done without a rank that was away";
  if ((answer.result == sparsecollTruncated) != call.truncates(rank_)) return "not as truncated";
  // The abort may come between the call and the fetch.
  const bool aborts = schedule_.trouble() == Trouble::kAbort && rank_ == schedule_.victim();
  return call.check_output(rank_, comm(), fetches && !aborts);
}

std::string Life::judge_fatal(size_t number, const Answer& answer) {
  first_ = answer.result;
  failed_ = number;
  entered_ = schedule_.waiting() == Waiting::kEach ? number + 1 : schedule_.calls_of(rank_);
  const bool is_victim = rank_ == schedule_.victim();
  bool allowed = false;
  switch (answer.result) {
    case sparsecollTimeout:
      allowed = schedule_.may_time_out();
      break;
    case sparsecollRemoteError:
      allowed = schedule_.may_hear_of_failure();
      break;
    case sparsecollSystemError:
      allowed = schedule_.trouble() == Trouble::kKill && is_victim;
      break;
    case sparsecollInvalidUsage:
      allowed = schedule_.trouble() == Trouble::kAbort && is_victim;
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
  if (!allowed) return "not allowed";
  sparsecollResult_t asynchronous = sparsecollSuccess;
  sparsecollCommGetAsyncError(comm(), &asynchronous);
  return asynchronous == first_ ? "" : text("the asynchronous error is ", asynchronous);
}

std::string Life::differ(size_t calls) const {
  for (const auto& tensor : schedule_.tensors()) {
    const std::string difference = tensor->differs(rank_, calls);
    if (!difference.empty()) return difference;
  }
  return "";
}

std::string Life::check_residuals(size_t calls) const {
  if (first_ == sparsecollSuccess) return differ(calls);
  // A wait for one of several queued calls tells of any that failed.
  std::string wrong;
  for (size_t state = failed_; state <= entered_; ++state) {
    const std::string difference = differ(state);
    if (difference.empty()) return "";
    wrong += text("\n      not as after ", state, " calls: ", difference);
  }
  return wrong;
}

std::string Life::check_sequence(size_t number) {
  if (first_ != sparsecollSuccess) return "";
  uint64_t sequence = 0;
  sparsecollCommGetSequence(comm(), &sequence);
  const bool refused = schedule_.refused(number);
  expected_sequence_ += refused ? 1 : schedule_.call(number, rank_).collectives();
  const bool known = !schedule_.may_hear_of_failure();
  return !known || sequence == expected_sequence_
             ? ""
             : text("the sequence number is ", sequence, " instead of ", expected_sequence_);
}

std::string Life::save_and_load(size_t number) {
  const auto r = static_cast<uint64_t>(rank_);
  if (test::noise(schedule_.seed(), number, r) % 16 != 0) return "";
  for (size_t t = 0; t < schedule_.tensors().size(); ++t) {
    const std::string path =
        around_.folder.file(text(schedule_.seed(), "-", rank_, "-", number, "-", t));
    const std::string verdict = schedule_.tensors()[t]->save_and_load(rank_, path);
    std::remove(path.c_str());
    if (!verdict.empty()) return "saved and loaded: " + verdict;
  }
  return "";
}

std::string Life::end() {
  if (rank_ == schedule_.victim() && schedule_.trouble() == Trouble::kAbsence) return "";
  const Clock::time_point start = Clock::now();
  const sparsecollResult_t result = ranks_.destroy(rank_);
  if (result != sparsecollSuccess)
    return text("destroy returned ", sparsecollGetErrorString(result));
  return seconds_since(start) > limit(start) ? "destroy came late" : "";
}

}  // namespace sparsecoll::fault
