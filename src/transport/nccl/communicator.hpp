// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include "core/deadline.hpp"
#include "transport/nccl/library.hpp"

namespace sparsecoll::nccl {

/// The configuration of every communicator of this library.
ncclConfig_t own_config();

/// Owns a communicator of NCCL that does not block. One thread at a time, but for check() and
/// interrupt().
class Communicator {
 public:
  /// `device` is where the communicator is.
  Communicator(const Library& library, ncclComm_t comm, int device);
  ~Communicator() { interrupt(); }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// While it lives calls of NCCL are made. Throws InvalidUsage after interrupt() or close().
  class Use {
   public:
    explicit Use(Communicator& communicator);
    /// Is false, and of no use, where another thread makes calls.
    Use(Communicator& communicator, std::try_to_lock_t);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    explicit operator bool() const { return comm_; }
    ncclComm_t comm() const { return comm_; }

   private:
    void begin();

    Communicator& communicator_;
    ncclComm_t comm_ = nullptr;
  };

  const Library& library() const { return library_; }
  int device() const { return device_; }

  /// Throws what has gone wrong with it, or did in the call whose result it is.
  void require(ncclResult_t result, const char* call) const;
  /// Throws what has gone wrong since, unless another thread is just about to find out.
  void check();
  /// Waits until NCCL has nothing left to do on the host; false at the deadline. Throws what has
  /// gone wrong.
  bool settle(const Deadline& deadline);

  /// Collective; null without a color. All are there when it returns. Throws Timeout.
  std::unique_ptr<Communicator> split(int color, int key, const Deadline& deadline);
  /// Collective orderly end. Throws Timeout.
  void close(const Deadline& deadline);
  /// Ends what is queued and gives the communicator up. From any thread.
  void interrupt() noexcept;

 private:
  /// NCCL has nothing left to do on the host.
  bool settled(const Use& use) const;

  const Library library_;
  const int device_;
  std::mutex mutex_;
  std::condition_variable idle_;
  ncclComm_t comm_;  ///< null: interrupted or closed
  bool in_use_ = false;
  /// Where NCCL writes the part that a split makes, whenever it is done.
  std::unique_ptr<ncclComm_t> part_;
};

}  // namespace sparsecoll::nccl
