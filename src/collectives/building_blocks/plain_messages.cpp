// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "collectives/building_blocks/plain_messages.hpp"

#include "kernels/wire.hpp"

namespace sparsecoll {

namespace {

/// To code and to decode an entry takes about this time (docs/performance.md).
constexpr double kCodingSeconds = 1e-9;
/// A plain index has about this many bytes more than a coded one at a density of 0.1% to 1%.
constexpr double kMoreBytes = 2.7;

Precision precision_of(DataType sent, DataType type) {
  if (sent == type) return Precision::stored;
  return sent == accumulation(type) ? Precision::accumulated : Precision::bfloat16;
}

}  // namespace

bool plain_is_fastest(const Env& env, int peer) {
  const bool slow = env.node_beta && *env.node_beta * kMoreBytes > kCodingSeconds;
  return env.wire != Wire::int8 && env.call.shares_memory(peer) && !slow;
}

bool plain_is_fastest_to_all(const Env& env) {
  for (int peer = 0; peer < env.call.size(); ++peer)
    if (peer != env.call.rank() && !plain_is_fastest(env, peer)) return false;
  return true;
}

ConstBytes readable(Env& env, const Message& message) {
  // The host must not look at messages in device memory.
  if (env.kernels.is_synchronous() || env.call.in_stream_order() ||
      env.kernels.is_on_device(message.bytes.data()))
    return message.bytes;
  const DataType type = env.kernels.data_type();
  WireHeader header;
  if (!wire_header(message.bytes, type, env.kernels.format_of(message), &header) ||
      static_cast<Representation>(header.representation) != Representation::plain)
    return message.bytes;
  Kernels& host =
      make_plain_kernels(type, env.kernels.index_type(), env.arena, env.kernels.block_size());
  const SparseBuffer entries = host.sparse(header.nnz);
  host.unpack_all({&message, 1}, {&entries, 1}, host.counts(1));
  const Precision precision = precision_of(static_cast<DataType>(header.data_type), type);
  const Packets coded = host.packets(header.nnz, {&message.region, 1}, precision);
  host.pack_all(entries.span().known(precision), {&message.region, 1}, coded);
  host.wait_packed(coded.slab + coded.capacity);
  return {coded.slab + *coded.offset, *coded.size};
}

}  // namespace sparsecoll
