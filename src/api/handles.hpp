// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace sparsecoll {

/// Handles of the C API are numbers, never addresses, and never used twice: a destroyed or foreign
/// one is found out without touching memory.
template <class Object>
class HandleTable {
 public:
  /// `kind` tells the tables' handles apart.
  explicit HandleTable(uintptr_t kind) : kind_(kind) {}

  void* insert(std::shared_ptr<Object> object) {
    const std::lock_guard lock(mutex_);
    const uintptr_t handle = (++last_ << 4) | kind_;
    objects_.emplace(handle, std::move(object));
    return reinterpret_cast<void*>(handle);
  }
  /// Null when there is no such object.
  std::shared_ptr<Object> find(const void* handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<uintptr_t>(handle));
    return found == objects_.end() ? nullptr : found->second;
  }
  /// How many there were when that one was made, itself included.
  static uint64_t number_of(const void* handle) { return reinterpret_cast<uintptr_t>(handle) >> 4; }
  void erase(const void* handle) {
    std::shared_ptr<Object> last;  // dies after the lock is gone
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<uintptr_t>(handle));
    if (found == objects_.end()) return;
    last = std::move(found->second);
    objects_.erase(found);
  }

 private:
  const uintptr_t kind_;
  mutable std::mutex mutex_;
  uintptr_t last_ = 0;
  std::unordered_map<uintptr_t, std::shared_ptr<Object>> objects_;
};

class Communicator;
class PushSumState;
class Residual;

/// The library's tables, one each for the process.
HandleTable<Communicator>& communicators();
HandleTable<Residual>& residuals();
HandleTable<PushSumState>& push_sums();

}  // namespace sparsecoll
