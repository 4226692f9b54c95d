// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/health.hpp"

#include <new>
#include <utility>

#include "calls/stream/stream_link.hpp"

namespace sparsecoll {

void Health::check() const {
  const auto failure = late_failure();  // without the lock, because it may wait
  if (code_ == sparsecollSuccess && !failure) return;
  const std::lock_guard lock(mutex_);
  if (code_ != sparsecollSuccess) throw Error(code_, why_);
  if (failure) throw Error(*failure);
}

sparsecollResult_t Health::code() const {
  const auto failure = late_failure();
  const std::lock_guard lock(mutex_);
  if (code_ != sparsecollSuccess) return code_;
  return failure ? failure->code() : sparsecollSuccess;
}

std::optional<Error> Health::kept() const {
  const std::lock_guard lock(mutex_);
  return code_ == sparsecollSuccess ? std::nullopt : std::optional(Error(code_, why_));
}

void Health::poison(sparsecollResult_t code, const char* why) noexcept {
  const std::lock_guard lock(mutex_);
  if (code_ == sparsecollSuccess) set(code, why);
}

void Health::poison(const Error& error) {
  const auto failure = late_failure();
  const Error& first = failure ? *failure : error;
  poison(first.code(), first.what());
}

void Health::set_destroyed() noexcept {
  const std::lock_guard lock(mutex_);
  set(sparsecollInvalidArgument, "the communicator was destroyed");
}

void Health::throw_poison() const {
  const std::lock_guard lock(mutex_);
  throw Error(code_, why_);
}

void Health::set_last_error(std::string message) {
  const std::lock_guard lock(mutex_);
  last_error_ = message;
  last_errors_[std::this_thread::get_id()].own = std::move(message);
}

const char* Health::last_error() {
  const std::lock_guard lock(mutex_);
  LastError& here = last_errors_[std::this_thread::get_id()];
  here.shown = here.own.empty() ? last_error_ : here.own;
  return here.shown.c_str();
}

std::optional<Error> Health::late_failure() const {
  return stream_link_ ? stream_link_->failure() : std::nullopt;
}

void Health::set(sparsecollResult_t code, const char* why) noexcept {
  code_ = code;
  try {
    why_ = why;
  } catch (const std::bad_alloc&) {
    why_ = "failed";  // so short that it needs no memory
  }
}

}  // namespace sparsecoll
