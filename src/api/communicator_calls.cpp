// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs the calls of a communicator, and handles every exception in a call.
#include <utility>

#include "api/call_span.hpp"
#include "api/communicator.hpp"
#include "api/execution_context.hpp"
#include "api/operation.hpp"
#include "calls/algorithm_info.hpp"
#include "kernels/profiler.hpp"

namespace sparsecoll {

namespace {

constexpr const char* kUnknownException = "an exception that is no std::exception";

}  // namespace

void Communicator::begin_call(FunctionRef<void()> begin) {
  try {
    contain(begin);
  } catch (const std::bad_alloc&) {
    poison_when_idle(Error(sparsecollSystemError, "out of memory"));
  }
}

void Communicator::contain(FunctionRef<void()> body) {
  try {
    body();
  } catch (const Error& error) {
    if (error.code() != sparsecollInternalError) throw;
    poison_when_idle(error);
  } catch (const std::bad_alloc&) {
    throw;  // a local function has changed nothing
  } catch (const std::exception& error) {
    poison_when_idle(Error(sparsecollInternalError, error.what()));
  } catch (...) {
    poison_when_idle(Error(sparsecollInternalError, kUnknownException));
  }
}

void Communicator::enqueue(const char* name, std::function<void()> task) {
  queue_->push(Queue::Kind::collective, name, [this, task = std::move(task)] { begin_call(task); });
}

void Communicator::run_collective(const CallIdentity& identity, FunctionRef<void()> check,
                                  FunctionRef<void(AgreedCall&)> body,
                                  std::optional<Deadline> deadline) {
  const auto run = [&](const CallParameters& parameters) {
    link_->run(parameters, identity, check, body);
  };
  run_call(identity.descriptor, deadline.value_or(new_deadline()), run);
}

void Communicator::run_group(const CallIdentity& identity, FunctionRef<void()> check,
                             std::span<const GroupTask> tasks) {
  run_call(identity.descriptor, new_deadline(), [&](const CallParameters& parameters) {
    link_->run_group(parameters, identity, check, tasks);
  });
}

void Communicator::run_without_agreement(Verb verb, FunctionRef<void(const CallParameters&)> body) {
  Descriptor call;
  call.verb = static_cast<uint64_t>(verb);
  run_call(call, new_deadline(), [&](const CallParameters& parameters) {
    try {
      body(parameters);
    } catch (const Error& error) {
      poison_and_throw(error);
    }
  });
}

void Communicator::run_call(const Descriptor& call, const Deadline& deadline,
                            FunctionRef<void(const CallParameters&)> body) {
  check_healthy();
  link_->check_thread();
  pending_results_.clear(call.verb == static_cast<uint64_t>(Verb::group));
  const uint64_t sequence = ++running_call_;
  if (queue_ && queue_->runs_here()) return run_numbered_call(call, {sequence, deadline}, body);
  completions_.issue(sequence);
  try {
    run_numbered_call(call, {sequence, deadline}, body);
  } catch (const CallNotStarted&) {
    completions_.withdraw(running_call_--);
    throw;
  } catch (const Error& error) {
    completions_.fail(sequence, {verb_name(call.verb), error.code(), error.what()});
    end_call_outside_queue(sequence);
    throw;
  } catch (const std::bad_alloc&) {
    completions_.fail(sequence, {verb_name(call.verb), sparsecollSystemError, "out of memory"});
    end_call_outside_queue(sequence);
    throw;
  }
  end_call_outside_queue(sequence);
}

void Communicator::end_call_outside_queue(uint64_t sequence) {
  completions_.end(sequence);
  if (queue_) queue_->wake();  // another thread may have asked for a notification
}

void Communicator::run_numbered_call(const Descriptor& call, const Numbered& numbered,
                                     FunctionRef<void(const CallParameters&)> body) {
  const auto& [sequence, deadline] = numbered;
  log(LogLevel::trace, verb_name(call.verb));
  Stats stats;
  stats.timeline = timeline_file_.timeline();
  stats.profiler = profiler();
  stats.progress = recorder_.begin(sequence, call, deadline.start());
  std::shared_ptr<const void> current_device;
  // The handlers below may leak the workspace's memory, so that it must outlive them.
  const Workspace workspace(backends_, deadline);
  try {
    current_device = backends_.keep_device_current();
    const CallSpan span(call, sequence, stats, deadline.start());
    link_->begin_call(sequence);
    body({sequence, deadline, stats});
  } catch (const CallNotStarted& error) {
    recorder_.fail(stats.algorithm, error.code());
    throw;
  } catch (const Error& error) {
    recorder_.fail(stats.algorithm, error.code());
    if (fatal(error.code()) || link_->aborted()) poison_and_throw(error);
    link_->end_call();
    count_committed(call.verb, sequence);
    if (error.code() == sparsecollTruncated) statistics_.add(stats);  // the verb is done
    throw;
  } catch (const std::bad_alloc&) {
    recorder_.fail(stats.algorithm, sparsecollSystemError);
    poison_and_throw(Error(sparsecollSystemError, "out of memory"));
  } catch (const std::exception& error) {
    recorder_.fail(stats.algorithm, sparsecollInternalError);
    poison_and_throw(Error(sparsecollInternalError, error.what()));
  } catch (...) {
    recorder_.fail(stats.algorithm, sparsecollInternalError);
    poison_and_throw(Error(sparsecollInternalError, kUnknownException));
  }
  link_->end_call();
  count_committed(call.verb, sequence);
  recorder_.end(stats.algorithm);
  statistics_.add(stats);
  log_result(stats);
}

void Communicator::log_result(const Stats& stats) const noexcept {
  const bool chosen = stats.algorithm != sparsecollAlgoAuto;
  log(LogLevel::trace, "done", chosen ? " by " : "",
      chosen ? algorithm_info(stats.algorithm)->name : "", ", ", stats.selected,
      " entries selected, ", stats.result, " in the result, ", stats.bytes_sent, " bytes sent in ",
      stats.messages_sent, " messages");
}

}  // namespace sparsecoll
