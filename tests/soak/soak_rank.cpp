// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "soak/soak_rank.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "soak/queued.hpp"
#include "support/attempt.hpp"
#include "support/ready_time.hpp"

namespace sparsecoll::soak {

namespace {

bool complete(sparsecollResult_t result) {
  return result == sparsecollSuccess || result == sparsecollTruncated;
}

/// Returns the error that has poisoned the communicator, or Success.
sparsecollResult_t poison_of(sparsecollComm_t comm) {
  sparsecollResult_t error = sparsecollSuccess;
  sparsecollCommGetAsyncError(comm, &error);
  return error == sparsecollInProgress ? sparsecollSuccess : error;
}

}  // namespace

SoakRank::SoakRank(const Options& options, int rank, int size, sparsecollComm_t comm, Death death)
    : options_(options),
      rank_(rank),
      size_(size),
      own_(rank),
      comm_(comm),
      death_(death),
      context_{size, first_config(options), true, true, {}, {}} {
  for (int each = 0; each < size; ++each) members_.push_back(each);
  report_.rank = rank;
  fault::Random random(options.seed);
  for (size_t tensors = 1 + random.below(3); tensors > 0; --tensors)
    fault::add_tensor(random, context_);
}

bool SoakRank::run() {
  try {
    report_.verdict = run_job();
  } catch (const std::exception& error) {
    report_.verdict = error.what();
  }
  report_.worst_delay = delays_.longest_since({});
  return report_.write(file("rank_" + std::to_string(rank_))) && report_.verdict.empty();
}

std::string SoakRank::run_job() {
  std::vector<sparsecollComm_t> comms(members_.size(), nullptr);
  comms[static_cast<size_t>(own_)] = comm_;
  for (const auto& tensor : context_.tensors) tensor->create(comms);
  std::string wrong = go_on();
  if (!wrong.empty() || report_.excluded) return wrong;
  deadline_ = options_.timeout_ms / 1000.0;
  while (base_ < options_.calls && context_.P > 1) {
    epoch_ = std::make_unique<Epoch>(test::noise(options_.seed, base_), context_, options_);
    const Outcome outcome = run_epoch(&wrong);
    if (wrong.empty()) wrong = late_;
    if (!wrong.empty())
      return text(wrong, "\n  calls from ", base_, " of ", context_.P, " ranks, number ", own_,
                  ", algorithm ", context_.config.algorithm, ", blocking ",
                  context_.config.blocking, "; ", epoch_->describe());
    if (outcome == Outcome::kDead) return "";
    wrong = go_on();
    if (!wrong.empty() || !late_.empty()) return wrong + late_ + "\n  after " + epoch_->describe();
    if (report_.excluded) return "";
  }
  wrong = destroy(comm_, false);
  return wrong.empty() ? late_ : wrong;
}

SoakRank::Outcome SoakRank::run_epoch(std::string* wrong) {
  const Fault& fault = epoch_->fault();
  for (size_t number = 0; number < epoch_->calls(); ++number) {
    const bool fails = fault.kind != FaultKind::kNone && number == fault.call;
    if (fails && is_victim() && begin_fault()) return Outcome::kDead;
    const sparsecollResult_t result = make_call(number);
    ++report_.calls;
    if (epoch_->refused(number) || (fault.kind != FaultKind::kNone && number >= fault.call))
      ++report_.faulty;
    bool fatal = false;
    *wrong = check_call(number, result, &fatal);
    if (second_thread_.joinable()) second_thread_.join();
    if (fails && is_victim() && fault.kills()) {
      while (death_ == Death::kOfProcess) pause();
      return Outcome::kDead;
    }
    if (!wrong->empty()) *wrong = text("call ", number, ": ", *wrong);
    if (fatal) ++report_.failed;
    if (!wrong->empty() || fatal) return Outcome::kFailed;
    if (poison_of(comm_) != sparsecollSuccess) return Outcome::kFailed;  // the abort came after it
  }
  return Outcome::kDone;
}

bool SoakRank::begin_fault() {
  const Fault& fault = epoch_->fault();
  if (fault.kind == FaultKind::kLate) {
    ++report_.lates;
    std::this_thread::sleep_for(std::chrono::milliseconds(options_.timeout_ms * 13 / 10));
    return false;
  }
  if (fault.kind == FaultKind::kAbort) ++report_.aborts;
  if (fault.kills()) {
    report_.dies = true;
    report_.write(file("rank_" + std::to_string(rank_)));
  }
  const bool kills_process = fault.kills() && death_ == Death::kOfProcess;
  if (kills_process || !fault.silently || fault.kind == FaultKind::kAbort)
    second_thread_ = std::thread([kills_process, delay = fault.delay_us, comm = comm_] {
      std::this_thread::sleep_for(std::chrono::microseconds(delay));
      if (kills_process) raise(SIGKILL);
      sparsecollCommAbort(comm);
    });
  if (fault.kind == FaultKind::kKillSaving) save_until_death();
  if (!fault.kills() || kills_process || !fault.silently)
    return fault.kind == FaultKind::kKillSaving;
  return true;
}

void SoakRank::save_until_death() {
  fault::Tensor& tensor = *context_.tensors[epoch_->fault().tensor];
  for (int saved = 0; death_ == Death::kOfProcess || saved < 3; ++saved)
    tensor.save_and_negate(own_, file("saving_" + std::to_string(rank_)));
  if (second_thread_.joinable()) second_thread_.join();
}

sparsecollResult_t SoakRank::make_call(size_t number) {
  return timed(epoch_->call(number).describe(), [&] {
    return completed(epoch_->call(number).make(own_, comm_, epoch_->bad_argument(number, own_)),
                     comm_, !context_.config.blocking);
  });
}

std::string SoakRank::check_call(size_t number, sparsecollResult_t result, bool* fatal) {
  fault::RandomCall& call = epoch_->call(number);
  const sparsecollResult_t poison = poison_of(comm_);
  std::string wrong;
  if (complete(result)) {
    if (epoch_->refused(number)) return "succeeded, although a rank passed a bad argument";
    if ((result == sparsecollTruncated) != call.truncates(own_)) return "truncated or not";
    const bool aborts = is_victim() && epoch_->may_fail(number);
    wrong = call.check_output(own_, comm_, !aborts);
    if (wrong.empty()) wrong = check_residuals(number + 1, number + 1);
  } else if (poison == sparsecollSuccess && epoch_->refused(number) &&
             result == epoch_->refusal(own_)) {
    ++report_.refused;
    wrong = call.check_untouched(own_);
    if (wrong.empty()) wrong = check_residuals(number, number + 1);
  } else {
    if (poison == sparsecollSuccess)
      return text("failed without a reason: ", test::explain(result, comm_));
    wrong = check_residuals(number, number + 1);
  }
  if (!wrong.empty() || poison_of(comm_) == sparsecollSuccess) return wrong;
  *fatal = true;
  return check_fatal(number);
}

std::string SoakRank::check_fatal(size_t number) {
  const sparsecollResult_t first = poison_of(comm_);
  const std::string message = sparsecollGetLastError(comm_);
  const std::string what = text(sparsecollGetErrorString(first), " [", message, "]");
  const bool own_abort = is_victim() && first == sparsecollInvalidUsage;
  if (message.empty() && !own_abort) return "no message: " + what;
  if (first != sparsecollTimeout && first != sparsecollRemoteError && !own_abort)
    return "this error has no cause: " + what;
  if (!epoch_->may_fail(number)) {
    note_unplanned(what);
    if (message.find("deadline passed") == std::string::npos) return "no rank had failed: " + what;
  }
  float value = 1, sum = 0;
  const Clock::time_point start = Clock::now();
  const sparsecollResult_t again = sparseAllreduce(&value, &sum, 1, 1, sparsecollFloat32,
                                                   sparsecollSum, nullptr, comm_, nullptr);
  const std::chrono::duration<double> took = Clock::now() - start;
  if (again != first) return text("a later call returned ", again, " after ", what);
  return took.count() > options_.slack ? "a later call waited after " + what : "";
}

std::string SoakRank::check_residuals(size_t least, size_t most) const {
  std::string wrong;
  for (size_t calls = least; calls <= most; ++calls) {
    std::string found;
    for (const auto& tensor : context_.tensors)
      if (found.empty()) found = tensor->difference(own_, calls);
    if (found.empty()) return "";
    wrong += text("\n      not as after ", calls, " calls: ", found);
  }
  return wrong;
}

void SoakRank::note_unplanned(const std::string& what) {
  if (report_.unplanned++ == 0) report_.first_unplanned = what;
}

sparsecollResult_t SoakRank::timed(const std::string& what,
                                   const std::function<sparsecollResult_t()>& function) {
  const test::ReadyTime ready;
  const Clock::time_point start = Clock::now();
  const sparsecollResult_t result = function();
  const std::chrono::duration<double> took = Clock::now() - start;
  const double over = took.count() - deadline_;
  if (over <= 0) return result;
  const double waited = std::min(ready.longest(), 5.0);
  if (over > report_.worst_over) {
    report_.worst_over = over;
    report_.worst_what = what;
  }
  report_.worst_own = std::max(report_.worst_own, over - waited);
  const double allowed = options_.slack + 50 * delays_.longest_since(start) + waited;
  if (over > allowed && late_.empty())
    late_ = text(what, " took ", over, " s longer than its deadline; ", allowed, " allowed");
  return result;
}

}  // namespace sparsecoll::soak
