// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// How a communicator begins, ends, and breaks.
#include <system_error>
#include <utility>

#include "api/communicator.hpp"
#include "api/handles.hpp"
#include "core/error.hpp"

namespace sparsecoll {

void* Communicator::join(const std::optional<Error>& problem, const Deadline& deadline) {
  void* handle = nullptr;
  try {
    handle = communicators().insert(shared_from_this());
    set_number(communicators().number_of(handle));
    agree_on_init(problem, deadline);
    start();
    return handle;
  } catch (const Error& error) {
    communicators().erase(handle);
    if (!closed_) poison_and_throw(error);  // peers may have joined already
    throw;
  } catch (const std::bad_alloc&) {
    communicators().erase(handle);
    poison_and_throw(Error(sparsecollSystemError, "out of memory"));
  }
}

void Communicator::agree_on_init(const std::optional<Error>& problem, const Deadline& deadline) {
  init_deadline_ = deadline;
  const auto check = [&] {
    if (problem) throw Error(*problem);
    if (!config_.values.blocking) link_->check_queue();
  };
  sequence_ = ~uint64_t{0};  // init is call 0; a peer may send messages of call 1 before it ends
  try {
    collective(describe(config_), check, [](AgreedCall& call) { call.agree(); });
  } catch (const Error&) {
    if (poison() == sparsecollSuccess) {
      link_->close();
      abandoned_ = closed_ = true;
    }
    throw;
  }
}

void Communicator::start() {
  init_deadline_.reset();
  last_ = total_ = Stats{};  // those of the verbs only
  if (config_.values.blocking) return;
  try {
    queue_ = std::make_unique<Queue>();
  } catch (const std::system_error& error) {
    fail(sparsecollSystemError, "no thread for queued calls: ", error.what());
  }
}

/// Queued calls are made, or aborted at the deadline.
void Communicator::drain() {
  if (!queue_) return;
  const Deadline deadline = Deadline::after(config_.values.timeoutMs);
  if (!queue_->wait_idle(deadline.within(std::chrono::hours(24 * 365)))) abort();
}

void Communicator::close() {
  if (closed_) check_healthy();
  if (poison() == sparsecollSuccess) {
    refuse_in_group();
    drain();
  }
  if (poison() != sparsecollSuccess) {
    if (queue_) queue_->stop();
    return abandon(nullptr);
  }
  if (link_->close_is_collective()) {
    Descriptor descriptor;
    descriptor.verb = static_cast<uint64_t>(Verb::destroy);
    collective(
        descriptor, [] {}, [this](AgreedCall& call) { link_->leave(call); });
  }
  if (queue_) queue_->stop();
  try {
    link_->close();
  } catch (const Error& error) {
    if (fatal(error.code())) poison_and_throw(error);  // there is no second try
    throw;
  }
  abandoned_ = closed_ = true;
  const std::lock_guard lock(mutex_);  // for a thread that found the handle just before
  refuse_from_now_on(sparsecollInvalidArgument, "the communicator was destroyed");
}

void Communicator::refuse_from_now_on(sparsecollResult_t code, const char* why) noexcept {
  poison_ = code;
  try {
    poison_message_ = why;
  } catch (const std::bad_alloc&) {
    poison_message_ = "failed";  // short enough to need no memory
  }
}

void Communicator::abort() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (poison_ == sparsecollSuccess)
      refuse_from_now_on(sparsecollInvalidUsage, "aborted by sparsecollCommAbort");
    if (joining_) joining_->abort();
  }
  link_->abort();
}

void Communicator::poison_with(const Error& error) {
  const auto failure = link_->failure();  // it came first
  const Error& first = failure ? *failure : error;
  {
    const std::lock_guard lock(mutex_);
    if (poison_ == sparsecollSuccess) refuse_from_now_on(first.code(), first.what());
  }
  abandon(&error);
}

void Communicator::abandon(const Error* notice) {
  if (std::exchange(abandoned_, true)) return;
  const AbandonedMemory lost = link_->abandon(notice);
  abandoned_bytes_ += lost.bytes;
  if (lost.touches_workspace)
    abandoned_bytes_ += arena_.leak() + (device_end() ? device_end()->leak() : 0);
}

void Communicator::poison_and_throw(const Error& error) {
  poison_with(error);
  const std::lock_guard lock(mutex_);
  throw Error(poison_, poison_message_);  // the first error: an abort may have come before this one
}

}  // namespace sparsecoll
