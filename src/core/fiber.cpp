// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/fiber.hpp"

#include <system_error>
#include <thread>
#include <utility>

#include "core/error.hpp"
#include "core/float_environment.hpp"

namespace sparsecoll {

/// As many are kept of those that groups have needed; the memory of each is some 50 KiB.
constexpr size_t kKept = 256;

class FiberThreads::Thread {
 public:
  Thread() : thread_([this] { run(); }) {}
  /// Nothing runs there.
  ~Thread() {
    work_ = nullptr;
    go_.pass();
    thread_.join();
  }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  // --- for the owner
  void start(const std::function<void()>& work) {
    work_ = &work;
    resume();
  }
  void resume() {
    go_.pass();
    back_.take();
  }

  // --- for what runs there
  void yield() {
    back_.pass();
    go_.take();
  }

 private:
  void run() noexcept {
    for (go_.take(); work_; go_.take()) {
      (*work_)();
      back_.pass();
    }
  }

  Baton go_, back_;
  const std::function<void()>* work_ = nullptr;  ///< null: it ends
  std::thread thread_;                           ///< last: it uses the others
};

FiberThreads::FiberThreads() { idle_.reserve(kKept); }
FiberThreads::~FiberThreads() = default;

std::unique_ptr<FiberThreads::Thread> FiberThreads::take() {
  if (!idle_.empty()) {
    auto thread = std::move(idle_.back());
    idle_.pop_back();
    return thread;
  }
  try {
    return std::make_unique<Thread>();
  } catch (const std::system_error& error) {
    fail(sparsecollSystemError, "no thread for a call of a group: ", error.what());
  }
}

void FiberThreads::give_back(std::unique_ptr<Thread> thread) noexcept {
  if (idle_.size() < kKept) idle_.push_back(std::move(thread));
}

Fiber::Fiber(FiberThreads& threads, std::function<void()> body)
    : threads_(threads), body_([this, own = std::move(body)] { run(own); }) {}

Fiber::~Fiber() {
  if (thread_) threads_.give_back(std::move(thread_));
}

void Fiber::resume() {
  if (thread_) {
    thread_->resume();
  } else {
    thread_ = threads_.take();
    thread_->start(body_);
  }
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void Fiber::yield() { thread_->yield(); }

void Fiber::run(const std::function<void()>& body) noexcept {
  const FloatEnvironment environment;
  try {
    body();
  } catch (...) {
    thrown_ = std::current_exception();
  }
  ended_ = true;
}

}  // namespace sparsecoll
