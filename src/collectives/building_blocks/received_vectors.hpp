// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "collectives/interface/env.hpp"

namespace sparsecoll {

/// Vectors unpacked from messages, by source.
struct ReceivedVectors {
  std::span<SparseSpan> spans;
  size_t entries = 0;  ///< upper bound of the entries of all vectors
};

/// Unpacks messages into vectors, all of them together in finish(). If the backend runs kernels at
/// once, as the host does, a long message is unpacked as soon as it is added.
class MessageUnpacker {
 public:
  MessageUnpacker(Env& env, size_t sources);

  /// Sets the vector of a source from which no message is expected.
  void set(size_t source, const SparseSpan& entries) { spans_[source] = entries; }
  /// Adds the message of a source. It stays as it is until the end of the call.
  void add(size_t source, const Message& message);
  /// Unpacks the remaining messages. Returns all vectors, by source.
  ReceivedVectors finish();

 private:
  void unpack();

  Env& env_;
  std::span<SparseSpan> spans_;
  // Messages that are not yet unpacked.
  size_t pending_ = 0;
  std::span<size_t> pending_source_;
  std::span<Message> pending_message_;
  std::span<size_t> entries_;
  std::span<SparseBuffer> buffer_;
};

/// Unpacks the ranks' messages. `own`, if given, is this rank's vector, and its message is ignored.
ReceivedVectors unpack_vectors(Env& env, std::span<const Message> messages,
                               const std::optional<SparseSpan>& own = {});

}  // namespace sparsecoll
