// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/fiber.hpp"

#include <utility>

#include "core/float_environment.hpp"

namespace sparsecoll {

Fiber::Fiber(std::function<void()> body) : body_(std::move(body)) {}

Fiber::~Fiber() {
  if (thread_.joinable()) thread_.join();
}

void Fiber::resume() {
  if (!thread_.joinable())
    thread_ = std::thread(&Fiber::run, this);
  else
    go_.release();
  back_.acquire();
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void Fiber::yield() {
  back_.release();
  go_.acquire();
}

void Fiber::run() noexcept {
  const FloatEnvironment environment;
  try {
    body_();
  } catch (...) {
    thrown_ = std::current_exception();
  }
  ended_ = true;
  back_.release();
}

}  // namespace sparsecoll
