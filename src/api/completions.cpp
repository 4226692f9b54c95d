// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/completions.hpp"

#include <algorithm>
#include <exception>

namespace sparsecoll {

uint64_t Completions::issued() const {
  const std::lock_guard lock(mutex_);
  return issued_;
}

void Completions::issue(uint64_t number) {
  const std::lock_guard lock(mutex_);
  issued_ = std::max(issued_, number);
}

void Completions::withdraw(uint64_t number) {
  {
    const std::lock_guard lock(mutex_);
    issued_ = std::min(issued_, number - 1);
  }
  ended_.notify_all();
}

void Completions::end(uint64_t number) noexcept {
  {
    const std::lock_guard lock(mutex_);
    done_ = std::max(done_, number);
  }
  ended_.notify_all();
}

void Completions::fail(uint64_t number, const CallError& error) noexcept {
  const std::lock_guard lock(mutex_);
  all_.add(number, error);
}

void Completions::tell_later(uint64_t number, const CallError& error) noexcept {
  const std::lock_guard lock(mutex_);
  untold_.add(number, error);
}

bool Completions::wait(uint64_t number) const {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return done_ >= number || issued_ < number; });
  return done_ >= number;
}

std::optional<Failure> Completions::take_failure(uint64_t number) {
  const std::lock_guard lock(mutex_);
  return untold_.take(number);
}

std::optional<Failure> Completions::failure_of(uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const Failure* const found = all_.find(number);
  return found ? std::optional(*found) : std::nullopt;
}

sparsecollResult_t Completions::result_of(uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const Failure* const found = all_.find(number);
  return found ? found->error.code() : sparsecollSuccess;
}

bool Completions::add(const Notification& notification) {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  waiting_.push_back(notification);
  return true;
}

bool Completions::has_due() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(waiting_,
                             [this](const Notification& each) { return each.number <= done_; });
}

std::optional<Notification> Completions::take_due() {
  const std::lock_guard lock(mutex_);
  const auto first = std::ranges::min_element(waiting_, {}, &Notification::number);
  if (first == waiting_.end() || first->number > done_) return std::nullopt;
  const Notification due = *first;
  waiting_.erase(first);
  return due;
}

bool Completions::close() {
  const std::lock_guard lock(mutex_);
  closed_ = waiting_.empty();
  return closed_;
}

/// Marks the calling thread as running a callback.
class Completions::Inside {
 public:
  explicit Inside(Completions& completions) : completions_(completions) {
    const std::lock_guard lock(completions_.mutex_);
    completions_.callers_.push_back(std::this_thread::get_id());
    ++completions_.callers_count_;
  }
  ~Inside() {
    const std::lock_guard lock(completions_.mutex_);
    --completions_.callers_count_;
    std::erase(completions_.callers_, std::this_thread::get_id());
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Completions& completions_;
};

void Completions::call(const Notification& notification, sparsecollResult_t result) {
  const Inside inside(*this);
  const auto threw = [&](const char* what) {
    sparsecoll::fail(sparsecollInvalidUsage, "done: expected a function that does not throw, got ",
                     what, " for call ", notification.number);
  };
  try {
    notification.done(notification.user, notification.number, result);
  } catch (const std::exception& error) {
    threw(text("an exception: ", error.what()).c_str());
  } catch (...) {
    threw("an exception that is no std::exception");
  }
}

bool Completions::calls_here() const {
  if (callers_count_ == 0) return false;
  const std::lock_guard lock(mutex_);
  return std::ranges::find(callers_, std::this_thread::get_id()) != callers_.end();
}

}  // namespace sparsecoll
