// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Several threads on one communicator: who is inside, who waits for calls, and notifications.
#include <unistd.h>

#include <new>

#include "api/bridge.hpp"
#include "api/communicator.hpp"
#include "calls/stream/stream_link.hpp"

namespace sparsecoll {

namespace {

[[noreturn]] void throw_failure(const Failure& failure) {
  const std::string numbers = failure.first == failure.last
                                  ? text(", call ", failure.first)
                                  : text(", calls ", failure.first, " to ", failure.last);
  fail(failure.error.code(), failure.operation, numbers, ": ", failure.error.what());
}

}  // namespace

pid_t own_thread() {
  struct Known {
    uint64_t generation;
    pid_t number;
  };
  static thread_local Known known{0, 0};
  // In a child the thread that forked has another number.
  if (const uint64_t now = process_generation(); known.number == 0 || known.generation != now)
    known = {now, ::gettid()};
  return known.number;
}

void Communicator::throw_queued_failure(uint64_t number) {
  if (const auto failure = completions_.take_failure(number)) throw_failure(*failure);
}

void Communicator::throw_failure_of(uint64_t number) {
  throw_queued_failure(number);
  if (const auto failure = completions_.failure_of(number)) throw_failure(*failure);
}

void Communicator::wait_for_call(uint64_t number) {
  if (!completions_.wait(number))
    fail(sparsecollInvalidArgument, "sequence: expected at most that of the last call, ",
         sequence(), ", got ", number);
}

bool Communicator::enter(const char* operation) {
  pid_t nobody = 0;
  if (!inside_.compare_exchange_strong(nobody, own_thread())) return false;
  inside_for_.store(operation, std::memory_order_release);
  return true;
}

Error Communicator::refusal(const char* operation) const {
  const pid_t inside = inside_, here = own_thread();
  const char* const inside_for = inside_for_;
  if (inside == 0)
    return {sparsecollInvalidUsage, "another thread was inside a call on this communicator"};
  if (inside == here)
    return {sparsecollInvalidUsage,
            text("called from a callback of ", inside_for, " on this communicator")};
  return {sparsecollInvalidUsage,
          text("another thread is inside a call on this communicator: thread ", inside, " in ",
               inside_for, ", this is thread ", here, " in ", operation)};
}

void Communicator::wait_for_device_outside() {
  Device* const device = backends_.device();
  if (!device) return;
  try {
    device->wait();
  } catch (const Error& error) {
    if (enter("sparsecollCommWait")) {
      const EnteredCommunicator inside(*this);
      poison_when_idle(error);
    }
    // The thread that is inside may use the link. The abort makes its call fail, and then that
    // thread notifies the peers.
    health_.poison(error);
    link_->abort();
    health_.throw_poison();
  }
}

sparsecollResult_t Communicator::final_result(uint64_t number) {
  const sparsecollResult_t result = completions_.result_of(number);
  if (result != sparsecollSuccess) return result;
  try {
    wait_for_device_outside();
    if (link_as<StreamLink>(*link_)) check_healthy();  // a failure on the device may be of any call
  } catch (const Error& error) {
    return error.code();
  }
  return result;
}

void Communicator::notify(const Notification& notification) {
  if (queue_) {
    if (!completions_.add(notification))
      fail(sparsecollInvalidArgument, "the communicator was destroyed");
    return queue_->wake();
  }
  wait_for_call(notification.number);
  completions_.call(notification, final_result(notification.number));
}

void Communicator::deliver_notifications() noexcept {
  while (const auto due = completions_.take_due()) {
    const auto failed = [&](sparsecollResult_t code, const char* why) {
      completions_.tell_later(due->number, {"sparsecollCommNotify", code, why});
    };
    try {
      completions_.call(*due, final_result(due->number));
    } catch (const Error& error) {
      failed(error.code(), error.what());
    } catch (const std::bad_alloc&) {
      failed(sparsecollSystemError, "out of memory");
    }
  }
}

}  // namespace sparsecoll
