// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace sparsecoll {

/// The handles of one kind of object in the C API. A handle is a number, never an address, and is
/// never used twice, so that a destroyed or foreign handle is recognised without touching memory.
/// Any thread may call any method.
template <class Object>
class HandleTable {
 public:
  /// `kind`, below 16, distinguishes the handles of this table from those of the others.
  explicit HandleTable(uintptr_t kind) : kind_(kind) {}

  /// Returns a new handle of this object.
  void* insert(std::shared_ptr<Object> object) {
    const std::lock_guard lock(mutex_);
    const uintptr_t handle = (++last_ << 4) | kind_;
    objects_.emplace(handle, std::move(object));
    return reinterpret_cast<void*>(handle);
  }
  /// Replaces the object of a handle that the table has. Does not throw.
  void replace(const void* handle, std::shared_ptr<Object> object) noexcept {
    const std::lock_guard lock(mutex_);
    objects_.find(reinterpret_cast<uintptr_t>(handle))->second.swap(object);
  }
  /// Returns the object behind a handle; null if there is none.
  std::shared_ptr<Object> find(const void* handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<uintptr_t>(handle));
    return found == objects_.end() ? nullptr : found->second;
  }
  /// Returns all objects.
  std::vector<std::shared_ptr<Object>> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Object>> all;
    for (const auto& [handle, object] : objects_) all.push_back(object);
    return all;
  }
  /// Lock and unlock the table around a fork, so that the child can use it.
  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }

  /// Returns the number of a handle: its table's first handle has 1, the next 2.
  static uint64_t number_of(const void* handle) { return reinterpret_cast<uintptr_t>(handle) >> 4; }
  /// Removes a handle. Does nothing if the table does not have it.
  void erase(const void* handle) {
    std::shared_ptr<Object> removed;  // destroyed after the lock is released
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<uintptr_t>(handle));
    if (found == objects_.end()) return;
    removed = std::move(found->second);
    objects_.erase(found);
  }

 private:
  const uintptr_t kind_;
  mutable std::mutex mutex_;
  uintptr_t last_ = 0;
  std::unordered_map<uintptr_t, std::shared_ptr<Object>> objects_;
};

/// The handles of the objects that belong to one communicator. Its destructor removes them from
/// their table. Only the thread that is inside the communicator, or that of its queue, may use it.
template <class Object>
class OwnedHandles {
 public:
  /// `table` outlives this object.
  explicit OwnedHandles(HandleTable<Object>& table) : table_(table) {}
  ~OwnedHandles() {
    for (const void* handle : handles_) table_.erase(handle);
  }
  OwnedHandles(const OwnedHandles&) = delete;
  OwnedHandles& operator=(const OwnedHandles&) = delete;

  /// Allocates the memory that the next insert() needs here.
  void reserve() { handles_.reserve(handles_.size() + 1); }
  /// Returns a new handle of this object.
  void* insert(std::shared_ptr<Object> object) {
    reserve();
    handles_.push_back(table_.insert(std::move(object)));
    return handles_.back();
  }
  /// Takes over a handle of another communicator. reserve() was called.
  void adopt(OwnedHandles& from, void* handle) noexcept {
    std::erase(from.handles_, handle);
    handles_.push_back(handle);
  }
  /// Takes over a handle as above and gives it another object.
  void adopt(OwnedHandles& from, void* handle, std::shared_ptr<Object> object) noexcept {
    adopt(from, handle);
    table_.replace(handle, std::move(object));
  }
  /// Removes a handle.
  void erase(const void* handle) {
    std::erase(handles_, handle);
    table_.erase(handle);
  }

 private:
  HandleTable<Object>& table_;
  std::vector<void*> handles_;
};

class Communicator;
class PushSumState;
class Residual;

/// Returns the number of forks from the first process with this library to this one. An object that
/// was made at another number belongs to a parent process. Throws SystemError if the system cannot
/// report forks.
uint64_t process_generation();

/// The handle tables of the process.
HandleTable<Communicator>& communicators();
HandleTable<Residual>& residuals();
HandleTable<PushSumState>& push_sums();

}  // namespace sparsecoll
