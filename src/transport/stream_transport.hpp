// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "core/deadline.hpp"
#include "core/types.hpp"

struct ncclComm;

namespace sparsecoll {

/// What moves between this rank and one peer, which may be this rank, in one exchange; in memory of
/// the device. Both ends know the sizes, and they are the same.
struct StreamTransfer {
  int peer;
  ConstBytes out;
  Bytes in;
  bool sends;     ///< out is to go
  bool receives;  ///< in is to come
};

/// Moves bytes between ranks in the order of a stream; knows no numbers. One thread at a time, but
/// for check() and interrupt(). Errors are thrown as Error; after one of them only interrupt() is
/// of use.
class StreamTransport {
 public:
  virtual ~StreamTransport() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The CUDA device of this rank, by the number that it has in this process.
  virtual int device() const = 0;

  /// Queues all of it on the stream, as one operation; when it returns, what is queued there next
  /// comes after the transfers. Several with one peer match in their order. The host waits for the
  /// peers only in the first exchange with each, while connections are made. Throws RemoteError,
  /// SystemError, UnhandledCudaError, Timeout, and InvalidUsage after interrupt() or close().
  virtual void exchange(std::span<const StreamTransfer> transfers, Stream stream,
                        const Deadline& deadline) = 0;
  /// From any thread: throws what has gone wrong since in what is queued, as far as it has been
  /// noticed.
  virtual void check() = 0;
  /// Collective: another transport, between the ranks of one color in the order of their keys; null
  /// without a color (a negative one). No exchange is under way: its streams have been waited for.
  /// Throws as exchange() does.
  virtual std::unique_ptr<StreamTransport> split(int color, int key, const Deadline& deadline) = 0;
  /// Orderly end, when nothing is under way; collective. Graphs that were captured from exchanges
  /// must have been destroyed. Throws as exchange() does.
  virtual void close(const Deadline& deadline) = 0;
  /// From any thread, at any time, once or often: what is queued ends, with nothing delivered, and
  /// later calls throw. Local; takes less than a second, even where the layer below takes longer.
  virtual void interrupt() noexcept = 0;
};

/// Collective over `comm`, in which nothing is under way: a transport over an NCCL communicator of
/// its own, split from that one, which is left alone from then on. Throws InvalidArgument when
/// `comm` is null, InvalidUsage when the process has no NCCL, or none that is new enough, or when
/// the library was built without; else as exchange() does, and what is the matter with `comm`.
/// After Timeout the split is still under way in `comm`, which is of no use before the missing
/// ranks have come.
std::unique_ptr<StreamTransport> make_nccl_transport(ncclComm* comm, const Deadline& deadline);

}  // namespace sparsecoll
