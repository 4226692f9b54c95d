// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "collectives/building_blocks/received_vectors.hpp"

#include "collectives/building_blocks/plain_messages.hpp"

namespace sparsecoll {

/// Messages of at least this many bytes are unpacked one by one.
constexpr size_t kLongMessage = 4096;

MessageUnpacker::MessageUnpacker(Env& env, size_t sources)
    : env_(env),
      spans_(env.arena.take_span<SparseSpan>(sources)),
      pending_source_(env.arena.take_span<size_t>(sources)),
      pending_message_(env.arena.take_span<Message>(sources)),
      entries_(env.arena.take_span<size_t>(sources)),
      buffer_(env.arena.take_span<SparseBuffer>(sources)) {}

void MessageUnpacker::add(size_t source, const Message& message) {
  pending_source_[pending_] = source;
  // A device may still be packing this rank's own message, which is coded.
  const bool own = source == static_cast<size_t>(env_.call.rank());
  Message& pending = pending_message_[pending_++] = message;
  if (!own) pending.bytes = readable(env_, message);
  if (env_.kernels.is_synchronous() && message.bytes.size() >= kLongMessage) unpack();
}

ReceivedVectors MessageUnpacker::finish() {
  if (pending_ > 0) unpack();
  ReceivedVectors received{spans_};
  for (const SparseSpan& each : spans_) received.entries += each.nnz.bound;
  return received;
}

void MessageUnpacker::unpack() {
  const Stopwatch watch(env_.stats, Phase::pack);
  const auto messages = pending_message_.first(pending_);
  env_.kernels.count_entries(messages, entries_.data());
  for (size_t m = 0; m < pending_; ++m) {
    buffer_[m] = env_.kernels.sparse(entries_[m]);
    SparseSpan& span = spans_[pending_source_[m]] = buffer_[m].span();
    if (const void* const values = env_.kernels.values_in(messages[m])) {
      span.value = values;
      buffer_[m].value = nullptr;
    }
  }
  env_.kernels.unpack_all(messages, buffer_.first(pending_), env_.fault);
  pending_ = 0;
}

ReceivedVectors unpack_vectors(Env& env, std::span<const Message> messages,
                               const std::optional<SparseSpan>& own) {
  const auto rank = static_cast<size_t>(env.call.rank());
  MessageUnpacker unpacker(env, messages.size());
  for (size_t r = 0; r < messages.size(); ++r)
    if (own && r == rank)
      unpacker.set(r, *own);
    else
      unpacker.add(r, messages[r]);
  return unpacker.finish();
}

}  // namespace sparsecoll
