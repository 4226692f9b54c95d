// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/communicator.hpp"

#include <chrono>
#include <utility>

#include "core/error.hpp"
#include "transport/nccl/release.hpp"
#include "transport/nccl/backoff.hpp"
#include "transport/nccl/results.hpp"

namespace sparsecoll::nccl {

namespace {

/// How long an interruption waits for a call of NCCL to return.
constexpr std::chrono::milliseconds kCallsReturn{100};

}  // namespace

ncclConfig_t own_config() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  // Parts that share resources share the flag that aborts as well: one would end the other.
  config.splitShare = 0;
  return config;
}

Communicator::Communicator(const Library& library, ncclComm_t comm, int device)
    : library_(library), device_(device), comm_(comm) {}

Communicator::Use::Use(Communicator& communicator) : communicator_(communicator) {
  std::unique_lock lock(communicator.mutex_);
  communicator.idle_.wait(lock, [&] { return !communicator.in_use_; });
  begin();
}

Communicator::Use::Use(Communicator& communicator, std::try_to_lock_t)
    : communicator_(communicator) {
  const std::lock_guard lock(communicator.mutex_);
  if (!communicator.in_use_) begin();
}

void Communicator::Use::begin() {
  if (!communicator_.comm_)
    fail(sparsecollInvalidUsage, "the NCCL communicator has been closed or interrupted");
  comm_ = communicator_.comm_;
  communicator_.in_use_ = true;
}

Communicator::Use::~Use() {
  if (!comm_) return;
  const std::lock_guard lock(communicator_.mutex_);
  communicator_.in_use_ = false;
  communicator_.idle_.notify_all();
}

void Communicator::require(ncclResult_t result, const char* call) const {
  require_own(library_, result, call);
}

bool Communicator::settled(const Use& use) const {
  ncclResult_t state = ncclSuccess;
  require(library_.async_error(use.comm(), &state), "ncclCommGetAsyncError");
  require(state, "NCCL communicator");
  return state != ncclInProgress;
}

void Communicator::check() {
  const Use use(*this, std::try_to_lock);
  if (use) settled(use);
}

bool Communicator::settle(const Deadline& deadline) {
  for (Pause pause;; pause.rest()) {
    const bool last = deadline.passed();
    if (settled(Use(*this))) return true;
    if (last) return false;
  }
}

std::unique_ptr<Communicator> Communicator::split(int color, int key, const Deadline& deadline) {
  {
    const Use use(*this);
    ncclConfig_t config = own_config();
    part_ = std::make_unique<ncclComm_t>(nullptr);
    require(library_.comm_split(use.comm(), color < 0 ? NCCL_SPLIT_NOCOLOR : color, key,
                                part_.get(), &config),
            "ncclCommSplit");
  }
  // It is this communicator that is in progress; the part is there when it no longer is.
  if (!settle(deadline))
    fail(sparsecollTimeout, "ncclCommSplit: not all ranks have called it within the deadline");
  std::unique_ptr<Communicator> part;
  {
    const Use use(*this);
    const auto made = std::exchange(part_, nullptr);
    if (!*made) return nullptr;
    part = std::make_unique<Communicator>(library_, *made, device_);
  }
  if (!part->settle(deadline))
    fail(sparsecollTimeout, "ncclCommSplit: the part was not there within the deadline");
  return part;
}

void Communicator::close(const Deadline& deadline) {
  {
    const Use use(*this);
    require(library_.comm_finalize(use.comm()), "ncclCommFinalize");
  }
  if (!settle(deadline))
    fail(sparsecollTimeout,
         "ncclCommFinalize: not all ranks have called it within the deadline, or a CUDA graph that "
         "was captured with this communicator has not been destroyed");
  std::unique_lock lock(mutex_);
  const ncclComm_t comm = std::exchange(comm_, nullptr);
  lock.unlock();
  if (comm && !destroy({library_, comm, device_, nullptr}, deadline))
    fail(sparsecollTimeout, "ncclCommDestroy: did not return within the deadline");
}

void Communicator::interrupt() noexcept {
  std::unique_lock lock(mutex_);
  const ncclComm_t comm = std::exchange(comm_, nullptr);
  if (!comm) return;
  // ncclCommAbort() frees what a call in another thread may still look at, so that one gets a
  // moment to return. It does not come back by itself where a stream holds all that it can, behind
  // a transfer that is stuck, or where the environment (NCCL_COMM_BLOCKING) makes every
  // communicator block: nothing but the abortion frees these.
  idle_.wait_for(lock, kCallsReturn, [this] { return !in_use_; });
  Remains remains{library_, comm, device_, std::move(part_)};
  lock.unlock();
  abort(std::move(remains));
}

}  // namespace sparsecoll::nccl
