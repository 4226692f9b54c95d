// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "core/deadline.hpp"
#include "core/types.hpp"

struct ncclComm;

namespace sparsecoll {

/// The bytes that this rank sends to one peer and receives from it in one exchange. The peer may be
/// this rank itself. All bytes are in device memory. Both ranks know the sizes and pass the same
/// ones.
struct StreamTransfer {
  int peer;
  ConstBytes out;
  Bytes in;
  bool sends;     ///< `out` is sent
  bool receives;  ///< `in` is received
};

/// Moves bytes between the ranks of one communicator in the order of CUDA streams. It does not
/// interpret them.
///
/// Threads: one thread at a time calls the transport. Only check(), interrupt() and
/// interrupt_shrink() may be called by any thread at any time.
///
/// Errors are thrown as Error. After one, only interrupt() and shrink() are useful.
///
/// docs/adding-a-transport.md explains how to write one; tests/transport/stream_contract.hpp tests
/// that it keeps to this contract.
class StreamTransport {
 public:
  virtual ~StreamTransport() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Returns the CUDA device of this rank, by its number in this process.
  virtual int device() const = 0;

  /// Queues all transfers on the stream as one operation. Work that is queued on the stream later
  /// runs after them. Several transfers with one peer are matched in their order.
  ///
  /// The host waits for peers only in the first exchange with each of them, to make connections;
  /// later exchanges can be captured into CUDA graphs. Throws RemoteError, SystemError,
  /// UnhandledCudaError, Timeout, and InvalidUsage after interrupt() or close().
  virtual void exchange(std::span<const StreamTransfer> transfers, Stream stream,
                        const Deadline& deadline) = 0;
  /// Joins the ranks of one color, not negative, for reduce_scatter(). Collective; called at most
  /// once. The caller has waited for its streams, so no exchange is queued. Throws as exchange()
  /// does.
  virtual void join(int color, const Deadline& deadline) = 0;
  /// Queues the sum over the joined ranks: rank r of them, in the order of this transport's ranks,
  /// gets the sum of the r-th shares. `in` has the shares of all, `count` values each. The order of
  /// additions is not defined. Only for types that are their own accumulation type. Throws as
  /// exchange() does.
  virtual void reduce_scatter(const void* in, void* out, size_t count, DataType type, Stream stream,
                              const Deadline& deadline) = 0;
  /// Throws the error of queued exchanges, if the transport has noticed one. Any thread may call
  /// it.
  virtual void check() = 0;
  /// Returns a new transport between the ranks of one color, ordered by their keys, or null if the
  /// color is negative. Collective. The caller has waited for its streams, so no exchange is
  /// queued. Throws as exchange() does.
  virtual std::unique_ptr<StreamTransport> split(int color, int key, const Deadline& deadline) = 0;
  /// Returns a new transport between the ranks that are not in the list, in their order. The list
  /// rises. Collective over the new ranks, also after interrupt(); may be called again if it has
  /// succeeded. Throws Timeout if a rank does not call it or has another list; InvalidUsage if the
  /// layer below cannot do it, after a failed shrink, or after interrupt_shrink(); otherwise as
  /// exchange() does.
  virtual std::unique_ptr<StreamTransport> shrink(std::span<const int> excluded,
                                                  const Deadline& deadline) = 0;
  /// Ends shrink(), and makes all later shrinks fail. Local. Any thread may call it.
  virtual void interrupt_shrink() noexcept = 0;
  /// Ends the transport in good order. Collective. The caller has waited for its streams, so no
  /// exchange is queued, and it has destroyed graphs that contain exchanges. Throws as exchange()
  /// does. After it only interrupt() may be called; other functions throw InvalidUsage.
  virtual void close(const Deadline& deadline) = 0;
  /// Ends exchanges that are queued, without delivering them; all later calls but shrink() throw.
  /// Local. Any thread may call it, at any time and more than once. It returns within a second,
  /// even if the layer below takes longer.
  virtual void interrupt() noexcept = 0;
};

/// Returns a transport over an NCCL communicator of its own, which it splits from `comm`.
/// Collective over `comm`, on which no operation may be in progress; the transport does not use
/// `comm` again.
///
/// Throws InvalidArgument if `comm` is null; InvalidUsage if the library was built without NCCL, or
/// if the process has no NCCL or one that is too old; any error that `comm` is in; and what
/// exchange() throws. After Timeout the split is still in progress on `comm`, which cannot be used
/// before the missing ranks have joined the split.
std::unique_ptr<StreamTransport> make_nccl_transport(ncclComm* comm, const Deadline& deadline);

}  // namespace sparsecoll
