// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "transport/nccl/communicator.hpp"
#include "transport/stream_transport.hpp"

namespace sparsecoll::nccl {

/// A StreamTransport over a communicator of NCCL.
class NcclTransport final : public StreamTransport {
 public:
  /// Takes ownership of the communicator, which is ready. Collective: waits for all ranks. Throws
  /// Timeout.
  NcclTransport(std::unique_ptr<Communicator> communicator, const Deadline& deadline);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int device() const override { return communicator_->device(); }
  void exchange(std::span<const StreamTransfer> transfers, Stream stream,
                const Deadline& deadline) override;
  void join(int color, const Deadline& deadline) override;
  void reduce_scatter(const void* in, void* out, size_t count, DataType type, Stream stream,
                      const Deadline& deadline) override;
  void check() override;
  std::unique_ptr<StreamTransport> split(int color, int key, const Deadline& deadline) override;
  std::unique_ptr<StreamTransport> shrink(std::span<const int> excluded,
                                          const Deadline& deadline) override;
  void interrupt_shrink() noexcept override;
  void close(const Deadline& deadline) override;
  void interrupt() noexcept override;

 private:
  /// While it exists, interrupt_shrink() also ends calls on the communicator that a shrink has
  /// made.
  void set_shrunk(Communicator* shrunk);

  const std::unique_ptr<Communicator> communicator_;
  /// A communicator that carries no messages. The remaining ranks can shrink it after a failure,
  /// when the other one was aborted: NCCL cannot shrink that after ncclCommAbort().
  std::unique_ptr<Communicator> reserve_;
  std::atomic<bool> shrink_ended_{false};
  std::unique_ptr<Communicator> joined_;  ///< null before join()
  Communicator* shrunk_ = nullptr;        ///< guarded by joining_; while shrink() works on it
  std::mutex joining_;                    ///< other threads may call interrupt() and check() while
                                          ///< ranks join
  int rank_ = 0;
  int size_ = 0;
};

}  // namespace sparsecoll::nccl
