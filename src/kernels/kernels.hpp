// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "core/arena.hpp"
#include "core/sparse.hpp"

namespace sparsecoll {

/// Error feedback of one call: reads one buffer, writes the other. Both null, never one: none.
struct ResidualView {
  const void* read = nullptr;
  void* write = nullptr;
};

/// What one rank puts in, in dense form: values of the tensor's type.
struct Gradient {
  const void* values = nullptr;
  size_t count = 0;
  ResidualView residual;
};

enum class ResidualRule : int { conserving = 0, paper = 1 };

/// What put_back() works on: what this rank sent, what the collective delivered, what this rank
/// dropped while merging (may be empty), and the rule.
struct Feedback {
  SparseSpan sent;
  SparseSpan delivered;
  SparseSpan dropped;
  ResidualRule rule = ResidualRule::conserving;
};

/// The keys of a value type.
struct KeySpace {
  uint64_t end;  ///< one more than the largest
  int octave;    ///< 2^octave keys are a factor of two in magnitude
};

/// `bins` ranges of 2^shift keys each, from `begin` (at least 1) on. Keys order values by magnitude
/// (core/numeric.hpp).
struct KeyBins {
  uint64_t begin = 1;
  int shift = 0;
  size_t bins = 0;

  uint64_t end() const { return begin + (uint64_t{bins} << shift); }
};

/// Entries whose key is above `key`, and the first `ties` (by index) of those that equal it. The
/// default takes all non-zeros.
struct Threshold {
  uint64_t key = 0;
  uint64_t ties = 0;
};

/// What one step of push-sum does to this rank's numerator x.
struct PushSumUpdate {
  std::span<const double> shares;        ///< the parts of x that were sent, each rounded
  std::span<const void* const> arrived;  ///< vectors that came in, in the order of their adding
  const void* net = nullptr;             ///< or null: what compressed messages moved, in all
  double weight = 1;                     ///< w afterwards
  const double* weight_at = nullptr;     ///< or the same in the place's memory
};

/// Messages in one slab. Message p starts at slab + offset[p] and has size[p] bytes; kHeadroom
/// bytes in front of each are free for whoever frames it. offset and size are counts. The slab is
/// where messages are, which on a device may be the host's memory: see wait_packed().
struct Packets {
  std::byte* slab = nullptr;
  uint64_t* offset = nullptr;
  uint64_t* size = nullptr;
  size_t capacity = 0;
};
inline constexpr size_t kHeadroom = 64;

/// A received message, where messages are, and the region that its indices are relative to.
struct Message {
  ConstBytes bytes;
  Region region;
};

/// Arithmetic on one place (host or device), bound to value type, index type, place, stream and
/// arena. Knows no ranks. Every virtual call is a fixed number of launches for what the host
/// knows (lengths' bounds, how many pieces), whatever the data; work
/// may run later, in stream order, and only those wait that say so. Outputs are
/// allocated by the caller from sparse(), counts() and bytes(), which live as long as the arena's
/// scope. All values are of the accumulation type but for a gradient's and those of results, which
/// are of the tensor's.
class Kernels {
 public:
  virtual ~Kernels() = default;

  /// Of the tensor.
  virtual DataType data_type() const = 0;
  /// Whether work, but for pack_all()'s, is done when the call returns, and not in stream order.
  virtual bool runs_at_once() const { return false; }
  virtual IndexType index_type() const = 0;
  virtual KeySpace keys() const = 0;

  // --- memory of the place
  virtual std::byte* bytes(size_t n) = 0;
  /// Zeroed in stream order.
  virtual uint64_t* counts(size_t n) = 0;
  virtual void set_count(uint64_t* count, uint64_t value) = 0;
  SparseBuffer sparse(size_t capacity);
  /// Room for the messages of `nnz` entries cut into `regions`.
  Packets packets(size_t nnz, std::span<const Region> regions,
                  Precision precision = Precision::accumulated);
  /// Of values of that precision on the wire.
  size_t wire_value_size(Precision precision) const;

  // --- between the place and the host
  /// The host's bytes in the place: themselves, or a copy, for which they must stay as they are
  /// until something is read.
  virtual const std::byte* upload(ConstBytes host) = 0;
  /// Memory of the place for what download() brings to these bytes of the host's: they themselves
  /// where kernels may write there.
  virtual std::byte* stand_in(Bytes host) = 0;
  /// host = what is in its stand_in(), when all work before has run.
  virtual void download(const std::byte* stand_in, Bytes host) = 0;
  /// to = from, bytes of the place that do not overlap.
  virtual void copy(const void* from, size_t bytes, void* to) = 0;

  // --- input
  /// `to` = the values of `in`, a caller's vector with values of the tensor's type.
  virtual void widen(const SparseSpan& in, void* to) = 0;
  /// A caller's vector in the accumulation type: itself if that is the tensor's type.
  SparseSpan widened(const SparseSpan& in);

  // --- selection
  /// acc = gradient + residual; selected = top-k of acc, rounded to the tensor's type;
  /// residual.write = acc minus selected, 0 for what was selected and not finite.
  virtual void accumulate_select(const Gradient& gradient, size_t k,
                                 const SparseBuffer& selected) = 0;
  /// acc = gradient + residual; selected = the entries of acc with a key of at least `key` (1 or
  /// more); residual.write = acc minus selected. Where these are more than fit into `selected`, its
  /// count says how many, and neither it nor residual.write holds anything of use.
  virtual void accumulate_above(const Gradient& gradient, uint64_t key,
                                const SparseBuffer& selected) = 0;
  /// acc = gradient + residual, all of it; residual.write is left alone.
  virtual void accumulate(const Gradient& gradient, void* acc) = 0;
  /// For a residual, as copy_canonical() and scale().
  virtual void zero(void* values, size_t count) = 0;
  /// kept = top-k of in; dropped (capacity 0: not wanted) = the other non-zeros.
  virtual void top_k(const SparseSpan& in, size_t k, const SparseBuffer& kept,
                     const SparseBuffer& dropped) = 0;
  /// Sum of the pieces, added in their order; the union of their indices, zeros kept.
  virtual void merge(std::span<const SparseSpan> pieces, const SparseBuffer& sum) = 0;
  /// The entries of that sum with a key of at least `key`, from 1 up to keys().end - 1; there is
  /// room for all of it.
  virtual void merge_above(std::span<const SparseSpan> pieces, uint64_t key,
                           const SparseBuffer& out) = 0;
  /// The pieces one after another; their index ranges are disjoint and rising.
  virtual void concatenate(std::span<const SparseSpan> pieces, const SparseBuffer& out) = 0;
  virtual void above(const SparseSpan& in, const Threshold& threshold, const SparseBuffer& out) = 0;

  /// *key = the smallest key of the entries, 0 when there are none.
  virtual void least_key(const SparseSpan& in, uint64_t* key) = 0;
  uint64_t least_key(const SparseSpan& in) {
    uint64_t* const least = counts(1);
    least_key(in, least);
    return read(least);
  }

  // --- histograms
  /// bin[b] = entries with key in bin b, bin[bins] = entries with larger keys.
  virtual void key_histogram(const SparseSpan& in, const KeyBins& bins, uint64_t* bin) = 0;
  /// bin[b] = entries whose index lies in [b * width, (b + 1) * width).
  virtual void index_histogram(const SparseSpan& in, uint64_t width, uint64_t* bin) = 0;

  /// The entries of `in` that lie in the region, where they can be looked at without a copy: what
  /// need not be packed for this rank itself.
  virtual std::optional<SparseSpan> part_of(const SparseSpan& in, const Region& region) = 0;

  // --- wire format (kernels/wire.hpp)
  /// rounded = the values of `in` as bfloat16 holds them, lost = what that takes off each; nothing
  /// of what is not finite. Not for integers.
  virtual void round_to_bf16(const SparseSpan& in, void* rounded, void* lost) = 0;
  /// Messages of the regions, in any order, none of which ends behind a dense vector. Their offsets
  /// and sizes can be read before all of them are written; until then `in` stays as it is,
  /// and the arena's scope lasts.
  virtual void pack_all(const SparseSpan& in, std::span<const Region> regions,
                        const Packets& out) = 0;
  /// Where the host sees messages: until the slab of packets() that `end` lies in, or at the end
  /// of, is written so far. Other memory is not waited for.
  virtual void wait_packed(const std::byte* end) = 0;
  /// Allows large messages to be packed in memory of the device, until the end of the call. For a
  /// transport that can send from there.
  virtual void keep_large_on_device() {}
  /// Returns whether the message at this address is in memory of the device.
  virtual bool is_on_device(const std::byte* /*message*/) const { return false; }
  /// Reports that this message was received in memory of the communicator's device, where it stays
  /// until the end of the call. Returns false if these kernels work on another backend: the caller
  /// then copies the message.
  virtual bool receive_on_device(ConstBytes /*message*/) { return false; }
  /// A message that has come, part of which may be unpacked later: brings it to the place in the
  /// meantime, where that pays. It stays as it is until the end of the call.
  virtual void prefetch(ConstBytes message) = 0;
  /// How many entries each message says it has, 0 where its header is unsound: what to make room
  /// for before unpack_all() looks closer. Waits where the host does not see messages, or for those
  /// that the place has yet to write.
  virtual void entries(std::span<const Message> messages, size_t* out) = 0;
  /// After entries(): where the values of a message can be read as they are; null where they
  /// cannot. The message stays where it is.
  virtual const void* values_in(const Message& /*message*/) const { return nullptr; }
  /// Trusts nothing: a malformed message gives no entries and raises *fault. A buffer whose value
  /// is null gets the indices alone, for values that are read where they are.
  virtual void unpack_all(std::span<const Message> messages, std::span<const SparseBuffer> out,
                          uint64_t* fault) = 0;

  // --- results
  /// The undelivered part of what was sent goes back, the dropped part of what was delivered is
  /// added; `residual` holds acc minus sent before.
  virtual void put_back(const Feedback& feedback, void* residual) = 0;
  /// residual = acc where it or the dense sum is zero, else 0: what is in no top-k of all.
  virtual void keep_cancelled(const void* acc, const SparseSpan& sum, void* residual) = 0;
  /// out = in / divisor in the tensor's type, with canonical NaNs and no negative zero.
  virtual void deliver(const SparseSpan& in, int divisor, const SparseBuffer& out) = 0;
  /// The pieces, none of them dense, one after another, whatever their indices, in the tensor's
  /// type, which holds their values exactly: every bit as it is but for NaNs, which become
  /// canonical.
  virtual void hand_over(std::span<const SparseSpan> pieces, const SparseBuffer& out) = 0;
  /// dense = 0, then the entries of in / divisor, likewise.
  virtual void scatter(const SparseSpan& in, int divisor, void* dense, size_t count) = 0;
  /// to = from, NaNs made canonical.
  virtual void copy_canonical(const void* from, size_t count, void* to) = 0;
  /// values *= factor; 0 also clears what is not finite.
  virtual void scale(void* values, size_t count, double factor) = 0;
  /// *first_bad = position of the first index that is not above its predecessor or not below
  /// `count`; the number of entries when there is none.
  virtual void check_indices(const SparseSpan& in, uint64_t count, uint64_t* first_bad) = 0;

  // --- push-sum; x, estimates and what is sent or arrives whole are of the tensor's type
  /// out = share * values.
  virtual void push_sum_share(const void* values, size_t count, double share, void* out) = 0;
  /// copy += sign * change, where sign is 1 or -1.
  virtual void push_sum_follow(const SparseSpan& change, double sign, void* copy) = 0;
  /// net += share * copy.
  virtual void push_sum_move(const void* copy, size_t count, double share, void* net) = 0;
  /// w, in the place's memory, gives a part of what it was with each message: *out[i] =
  /// shares[i] * w, subtracted in their order.
  virtual void push_sum_give(double* weight, std::span<const double> shares,
                             std::span<double* const> out) = 0;
  /// What came with messages is added to w, in their order.
  virtual void push_sum_take(double* weight, std::span<const double* const> arrived) = 0;
  /// x = x - what was sent + what came in, in the accumulation type, rounded once; estimate (may be
  /// null) = x / weight.
  virtual void push_sum_absorb(const PushSumUpdate& terms, size_t count, void* x,
                               void* estimate) = 0;

  // --- the wait for numbers
  /// Copies n counts to the host when all work before has run.
  virtual void read(const uint64_t* counts, size_t n, uint64_t* out) = 0;
  uint64_t read(const uint64_t* count) {
    uint64_t value = 0;
    read(count, 1, &value);
    return value;
  }

 private:
  /// Memory for so many messages.
  virtual std::byte* slab(size_t n, size_t messages) = 0;
};

/// The host's plain loops, the executable specification. Lives in the arena's scope.
Kernels& make_plain_kernels(DataType data_type, IndexType index_type, Arena& arena);

namespace host {
class Backend;
}
/// The same with the place's threads and vector instructions where vectors are long: the same bits.
Kernels& make_host_kernels(DataType data_type, IndexType index_type, host::Backend& backend);

}  // namespace sparsecoll
