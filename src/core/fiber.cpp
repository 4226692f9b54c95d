// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/fiber.hpp"

#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "core/float_environment.hpp"

namespace sparsecoll {

Fiber::Fiber(std::function<void()> body) : body_(std::move(body)) {}

Fiber::~Fiber() {
  if (thread_.joinable()) thread_.join();
}

void Fiber::resume() {
  if (thread_.joinable())
    go_.pass();
  else
    start();
  back_.take();
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void Fiber::start() {
  try {
    thread_ = std::thread(&Fiber::run, this);
  } catch (const std::system_error& error) {
    fail(sparsecollSystemError, "no thread for a call of a group: ", error.what());
  }
}

void Fiber::yield() {
  back_.pass();
  go_.take();
}

void Fiber::run() noexcept {
  const FloatEnvironment environment;
  try {
    body_();
  } catch (...) {
    thrown_ = std::current_exception();
  }
  ended_ = true;
  back_.pass();
}

}  // namespace sparsecoll
