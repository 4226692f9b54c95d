// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "soak/soak_rank.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <thread>

#include "support/attempt.hpp"

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

uint64_t sequence_of(sparsecollComm_t comm) {
  uint64_t sequence = 0;
  sparsecollCommGetSequence(comm, &sequence);
  return sequence;
}

/// Returns the result of a call that was queued, if it was.
sparsecollResult_t completed(sparsecollResult_t result, sparsecollComm_t comm, bool queued) {
  return queued && result == sparsecollSuccess ? sparsecollCommWait(comm, sequence_of(comm))
                                               : result;
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

std::string SoakRank::destroy(sparsecollComm_t comm, bool may_fail) {
  const sparsecollResult_t result =
      timed("sparsecollCommDestroy", [&] { return sparsecollCommDestroy(comm); });
  // Processes destroy a healthy communicator together.
  if (result == sparsecollTimeout || result == sparsecollRemoteError) {
    if (!may_fail) note_unplanned("sparsecollCommDestroy");
    return "";
  }
  return result == sparsecollSuccess ? "" : text("destroy: ", sparsecollGetErrorString(result));
}

void SoakRank::note_unplanned(const std::string& what) {
  if (report_.unplanned++ == 0) report_.first_unplanned = what;
}

std::string SoakRank::save_and_load() {
  if (test::noise(options_.seed, base_, static_cast<uint64_t>(rank_)) % 4 != 0) return "";
  for (const auto& tensor : context_.tensors) {
    const std::string wrong = tensor->save_and_load(own_, file("saved_" + std::to_string(rank_)));
    if (!wrong.empty()) return "saved and loaded: " + wrong;
    ++report_.saves;
  }
  return "";
}

sparsecollResult_t SoakRank::timed(const std::string& what,
                                   const std::function<sparsecollResult_t()>& function) {
  const fault::ReadyTime ready;
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

// ---- After the last call on a communicator ----

std::string SoakRank::go_on() {
  const Fault fault = epoch_ ? epoch_->fault() : Fault{};
  const int none = 0;
  bool with_list = !fault.kills() || fault.known;
  std::optional<size_t> state;  // the number of calls of the epoch that count
  for (int attempt = 0; attempt < 8; ++attempt) {
    sparsecollComm_t next = nullptr;
    const sparsecollConfig_t config =
        config_of_epoch(test::noise(options_.seed, born_, 1), options_);
    const int* const list = !with_list ? nullptr : fault.kills() ? &fault.victim : &none;
    const int length = with_list && fault.kills() ? 1 : 0;
    const sparsecollResult_t result = timed("sparsecollCommShrink", [&] {
      return sparsecollCommShrink(comm_, list, length, &next, &config);
    });
    with_list = false;
    if (result != sparsecollSuccess) {
      why_ = text("shrink: ", test::explain(result, comm_));
      continue;
    }
    ++report_.shrinks;
    old_.push_back(comm_);
    comm_ = next;
    born_ = sequence_of(comm_);
    context_.config = config;
    if (!state) state = epoch_ && born_ > base_ ? epoch_->calls_of(born_ - base_) : 0;
    std::vector<int> members;
    const std::string wrong = roll_call(&members);
    if (wrong.empty() && !members.empty()) return adopt(members, *state);
    if (!wrong.empty()) return wrong;
  }
  report_.excluded = true;
  std::fprintf(stderr, "rank %d was left out: %s\n", rank_, why_.c_str());
  return "";
}

std::string SoakRank::roll_call(std::vector<int>* members) {
  auto index = static_cast<uint32_t>(rank_);
  int32_t one = 1;
  std::vector<uint32_t> indices(static_cast<size_t>(size_));
  std::vector<int32_t> values(indices.size());
  sparsecollSparse_t send = SPARSECOLL_SPARSE_INITIALIZER, recv = SPARSECOLL_SPARSE_INITIALIZER;
  send.count = recv.count = recv.capacity = indices.size();
  send.nnz = send.capacity = 1;
  send.datatype = recv.datatype = sparsecollInt32;
  send.indices = &index;
  send.values = &one;
  recv.indices = indices.data();
  recv.values = values.data();
  const sparsecollResult_t result = timed("the first call of a shrunk communicator", [&] {
    return completed(
        gtopkAllreducev(&send, &recv, SPARSECOLL_ALL, sparsecollSum, nullptr, comm_, nullptr),
        comm_, !context_.config.blocking);
  });
  why_ = text("first call: ", test::explain(result, comm_));
  if (result == sparsecollTimeout || result == sparsecollRemoteError) return "";
  if (result != sparsecollSuccess) return why_;
  int own = -1, ranks = 0;
  sparsecollCommRank(comm_, &own);
  sparsecollCommCount(comm_, &ranks);
  for (size_t each = 0; each < recv.nnz; ++each) {
    if (values[each] != 1) return text("rank ", indices[each], " is there more than once");
    members->push_back(static_cast<int>(indices[each]));
  }
  const auto at = std::ranges::find(*members, rank_) - members->begin();
  return ranks == static_cast<int>(recv.nnz) && own == at
             ? ""
             : text("number ", own, " of ", ranks, ", expected ", at, " of ", recv.nnz);
}

std::string SoakRank::adopt(const std::vector<int>& members, size_t state) {
  const Fault fault = epoch_ ? epoch_->fault() : Fault{};
  std::vector<size_t> kept;
  for (const int each : members) {
    const auto at = std::ranges::find(members_, each);
    if (at == members_.end()) return text("rank ", each, " is there again");
    kept.push_back(static_cast<size_t>(at - members_.begin()));
  }
  const int victim = members_[static_cast<size_t>(fault.victim)];
  const bool died = fault.kills() && std::ranges::find(members, victim) == members.end();
  if (died) ++report_.kills;
  // Ranks that the others have given up may still agree among themselves.
  const size_t missing = members_.size() - members.size() - (died ? 1 : 0);
  report_.excluded = missing > members.size();
  if (died && fault.kind == FaultKind::kKillSaving && members[0] == rank_) {
    const std::string wrong = context_.tensors[fault.tensor]->check_file(
        file("saving_" + std::to_string(victim)), fault.victim, context_.P, fault.call);
    if (!wrong.empty()) return "the file of rank " + std::to_string(victim) + ": " + wrong;
    ++report_.dead_files;
  }
  for (const auto& tensor : context_.tensors) {
    const sparsecollResult_t result = tensor->move(comm_);
    if (result != sparsecollSuccess) return text("move: ", test::explain(result, comm_));
    tensor->keep(state, kept);
  }
  members_ = members;
  own_ = static_cast<int>(std::ranges::find(members, rank_) - members.begin());
  context_.P = static_cast<int>(members.size());
  context_.replays.clear();
  base_ = sequence_of(comm_);
  for (const sparsecollComm_t each : old_) {
    const std::string wrong = destroy(each, fault.kind != FaultKind::kNone);
    if (!wrong.empty()) return wrong;
  }
  old_.clear();
  const std::string wrong = check_residuals(0, 0);
  // A residual that is loaded after a call stays as it is when that call is undone. Here all calls
  // count.
  return wrong.empty() ? save_and_load()
                       : text("after the shrink, ", state, " calls count: ", wrong);
}

}  // namespace sparsecoll::soak
