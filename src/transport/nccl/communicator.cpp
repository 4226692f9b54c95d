// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/communicator.hpp"

#include <utility>

#include "core/error.hpp"
#include "transport/nccl/backoff.hpp"
#include "transport/nccl/release.hpp"
#include "transport/nccl/results.hpp"

namespace sparsecoll::nccl {

ncclConfig_t own_config() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  // Communicators that share resources share the abort flag, too, so that one would abort the
  // other.
  config.splitShare = 0;
  config.shrinkShare = 0;
  return config;
}

Communicator::Communicator(const Library& library, ncclComm_t comm, int device)
    : library_(library), device_(device), comm_(comm) {}

Communicator::CallScope::CallScope(Communicator& communicator, Call call)
    : communicator_(communicator) {
  std::unique_lock lock(communicator.mutex_);
  communicator.idle_.wait(lock, [&] { return !communicator.in_use_; });
  begin(call);
}

Communicator::CallScope::CallScope(Communicator& communicator, Call call, std::try_to_lock_t)
    : communicator_(communicator) {
  const std::lock_guard lock(communicator.mutex_);
  if (!communicator.in_use_) begin(call);
}

void Communicator::CallScope::begin(Call call) {
  if (!communicator_.comm_)
    fail(sparsecollInvalidUsage, "the NCCL communicator has been closed or interrupted");
  comm_ = communicator_.comm_;
  communicator_.in_use_ = call;
}

Communicator::CallScope::~CallScope() {
  if (!comm_) return;
  const std::lock_guard lock(communicator_.mutex_);
  communicator_.in_use_.reset();
  communicator_.idle_.notify_all();
}

void Communicator::require(ncclResult_t result, const char* call) const {
  require_own_call(library_, result, call);
}

bool Communicator::is_ready(const CallScope& scope) const {
  ncclResult_t state = ncclSuccess;
  require(library_.async_error(scope.comm(), &state), "ncclCommGetAsyncError");
  require(state, "NCCL communicator");
  return state != ncclInProgress;
}

void Communicator::check() {
  const CallScope scope(*this, Call::query, std::try_to_lock);
  if (scope) is_ready(scope);
}

bool Communicator::wait_ready(const Deadline& deadline) {
  for (Backoff backoff;; backoff.wait()) {
    const bool last = deadline.passed();
    if (is_ready(CallScope(*this, Call::query))) return true;
    if (last) return false;
  }
}

std::unique_ptr<Communicator> Communicator::split(int color, int key, const Deadline& deadline) {
  {
    const CallScope scope(*this);
    ncclConfig_t config = own_config();
    pending_child_ = std::make_unique<ncclComm_t>(nullptr);
    require(library_.comm_split(scope.comm(), color < 0 ? NCCL_SPLIT_NOCOLOR : color, key,
                                pending_child_.get(), &config),
            "ncclCommSplit");
  }
  return take_child("ncclCommSplit", deadline);
}

std::unique_ptr<Communicator> Communicator::shrink(std::vector<int> excluded,
                                                   const Deadline& deadline) {
  {
    const CallScope scope(*this);
    ncclConfig_t config = own_config();
    pending_child_ = std::make_unique<ncclComm_t>(nullptr);
    require(library_.comm_shrink(scope.comm(), excluded.data(), static_cast<int>(excluded.size()),
                                 pending_child_.get(), &config, NCCL_SHRINK_DEFAULT),
            "ncclCommShrink");
  }
  return take_child("ncclCommShrink", deadline);
}

std::unique_ptr<Communicator> Communicator::take_child(const char* call, const Deadline& deadline) {
  // This communicator is in progress until the new one exists.
  if (!wait_ready(deadline))
    fail(sparsecollTimeout, call, ": not all ranks have called it within the deadline");
  std::unique_ptr<Communicator> child;
  {
    const CallScope scope(*this, Call::query);
    const auto made = std::exchange(pending_child_, nullptr);
    if (!*made) return nullptr;
    child = std::make_unique<Communicator>(library_, *made, device_);
  }
  if (!child->wait_ready(deadline))
    fail(sparsecollTimeout, call, ": the new communicator was not ready within the deadline");
  return child;
}

void Communicator::close(const Deadline& deadline) {
  {
    const CallScope scope(*this);
    require(library_.comm_finalize(scope.comm()), "ncclCommFinalize");
  }
  if (!wait_ready(deadline))
    fail(sparsecollTimeout,
         "ncclCommFinalize: not all ranks have called it within the deadline, or a CUDA graph that "
         "was captured with this communicator has not been destroyed");
  std::unique_lock lock(mutex_);
  const ncclComm_t comm = std::exchange(comm_, nullptr);
  // Another thread may be in check(), which returns soon. No thread can begin a call any more.
  idle_.wait(lock, [this] { return !in_use_; });
  lock.unlock();
  if (comm && !destroy({library_, comm, device_, nullptr}, deadline))
    fail(sparsecollTimeout, "ncclCommDestroy: did not return within the deadline");
}

void Communicator::interrupt() noexcept {
  std::unique_lock lock(mutex_);
  const ncclComm_t comm = std::exchange(comm_, nullptr);
  if (!comm) return;
  // ncclCommAbort() frees memory that a call in another thread may still use, so wait a little
  // for that call to return. Two kinds of calls never return before the abort: a call on a stream
  // that is full behind a stuck transfer, and a call with a communicator that the environment
  // (NCCL_COMM_BLOCKING) makes blocking. A query waits for nothing but a CPU, so it always returns.
  idle_.wait_for(lock, kCallReturnWait, [this] { return !in_use_; });
  idle_.wait(lock, [this] { return in_use_ != Call::query; });
  RetiredCommunicator retired{library_, comm, device_, std::move(pending_child_)};
  lock.unlock();
  abort(std::move(retired));
}

}  // namespace sparsecoll::nccl
