// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/deadline.hpp"
#include "transport/nccl/library.hpp"

namespace sparsecoll::nccl {

/// How long an interruption, or an init whose deadline has passed, waits for a running call of NCCL
/// to return. A call may take more than 100 ms where many busy threads share a CPU. An
/// interruption may wait another half second for its abort, and must end within a second.
inline constexpr std::chrono::milliseconds kCallReturnWait{400};

/// Returns the configuration of every communicator that this library makes.
ncclConfig_t own_config();

/// Owns a non-blocking NCCL communicator. One thread at a time calls it; only check() and
/// interrupt() may be called by any thread.
class Communicator {
 public:
  /// Takes ownership of `comm`, which is on CUDA device `device`.
  Communicator(const Library& library, ncclComm_t comm, int device);
  ~Communicator() { interrupt(); }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Kinds of calls of NCCL.
  enum class Call {
    may_stay,  ///< It may not return before the communicator is aborted.
    query      ///< It returns soon, because it waits for no rank and no stream.
  };

  /// While it lives, its thread has the right to make calls of one kind with the communicator, and
  /// other threads must make none. The constructors throw InvalidUsage if interrupt() or close()
  /// has been called.
  class CallScope {
   public:
    /// Waits until no other thread has the right.
    explicit CallScope(Communicator& communicator, Call call = Call::may_stay);
    /// Does not wait: if another thread has the right, gets none and converts to false.
    CallScope(Communicator& communicator, Call call, std::try_to_lock_t);
    ~CallScope();
    CallScope(const CallScope&) = delete;
    CallScope& operator=(const CallScope&) = delete;
    explicit operator bool() const { return comm_; }
    ncclComm_t comm() const { return comm_; }

   private:
    void begin(Call call);

    Communicator& communicator_;
    ncclComm_t comm_ = nullptr;
  };

  const Library& library() const { return library_; }
  int device() const { return device_; }

  /// Throws if `result`, of the NCCL function named `call`, is an error.
  void require(ncclResult_t result, const char* call) const;
  /// Throws the asynchronous error of the communicator, if there is one. Does nothing if another
  /// thread is in a call, which will notice the error itself.
  void check();
  /// Waits until NCCL has nothing left to do on the host. Returns false if the deadline passes.
  /// Throws the communicator's error.
  bool wait_ready(const Deadline& deadline);

  /// Returns a communicator of the ranks with the same color, or null if the color is negative.
  /// Collective: waits for all ranks. Throws Timeout.
  std::unique_ptr<Communicator> split(int color, int key, const Deadline& deadline);
  /// Returns a communicator of the ranks that are not in the list, in their order. Collective over
  /// them: waits for all of them. This communicator has no operation in progress. The list is not
  /// empty and rises. Throws Timeout; NCCL cannot repeat a shrink that failed.
  std::unique_ptr<Communicator> shrink(std::vector<int> excluded, const Deadline& deadline);
  /// Finalizes and destroys the communicator. Collective. Throws Timeout.
  void close(const Deadline& deadline);
  /// Aborts the communicator and with it all queued operations. Any thread may call it.
  void interrupt() noexcept;

 private:
  /// Returns true if NCCL has nothing left to do on the host. Throws the communicator's error.
  bool is_ready(const CallScope& use) const;
  /// Waits for the communicator that `call`, a split or a shrink, is making, and returns it.
  /// Returns null if the call makes none on this rank.
  std::unique_ptr<Communicator> take_child(const char* call, const Deadline& deadline);

  const Library library_;
  const int device_;
  std::mutex mutex_;
  std::condition_variable idle_;
  ncclComm_t comm_;             ///< null after interrupt() or close()
  std::optional<Call> in_use_;  ///< what the thread that has the right may call
  /// NCCL writes the communicator that a split or shrink makes here when that is complete.
  std::unique_ptr<ncclComm_t> pending_child_;
};

}  // namespace sparsecoll::nccl
