// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "core/arena.hpp"
#include "core/sparse.hpp"
#include "kernels/kernel_arguments.hpp"
#include "kernels/wire.hpp"

namespace sparsecoll {

/// Arithmetic on one backend (the host or a device). An instance is bound to a value type, an index
/// type, a size of blocks, a backend, a stream and an arena. Ranks do not occur in it.
///
/// Work may run after the call returns, in stream order; only methods that say so wait for it. The
/// number of launches of a call depends on what the host knows (bounds of lengths, the number of
/// inputs), never on the data.
///
/// The caller allocates outputs with sparse(), counts() and bytes(). They live as long as the
/// arena's current scope. Methods that allocate throw std::bad_alloc.
///
/// Values have the accumulation type. Exceptions: a gradient and the values of results have the
/// tensor's type.
class Kernels {
 public:
  virtual ~Kernels() = default;

  /// Returns the tensor's type.
  virtual DataType data_type() const = 0;
  /// Returns true if all work but pack_all()'s is complete when its call returns.
  virtual bool is_synchronous() const { return false; }
  virtual IndexType index_type() const = 0;
  /// Returns the number of values of an entry of a sparse vector. Regions and counts are in
  /// entries. If it is above 1, sparse vectors have indices.
  virtual size_t block_size() const { return 1; }
  /// Allows messages of 8-bit values, in which 2^bits consecutive indices share a scale.
  virtual void set_scale_bits(unsigned bits) { scale_bits_ = bits; }
  std::optional<unsigned> scale_bits() const { return scale_bits_; }
  /// Returns what both sides know of the message of a region. The region is the sender's.
  RegionFormat format_of(const Region& region) const { return format_of({{}, region}); }
  RegionFormat format_of(const Message& received) const {
    const uint64_t begin = received.region.begin - received.moved;
    return {received.region.length(), block_size(),
            scale_bits_ ? ScaleGroups{*scale_bits_, begin} : ScaleGroups{}};
  }
  /// Returns kernels of the same types for entries of one value; this object itself if its are so.
  virtual Kernels& of_values() { return *this; }
  /// Returns a view of the values of a vector as entries of one value, for of_values(). Their
  /// indices are lost if the vector is one of blocks. Waits then.
  SparseSpan values_of(const SparseSpan& in);
  virtual KeySpace keys() const = 0;

  // --- memory of the backend
  /// Allocates n uninitialized bytes.
  virtual std::byte* bytes(size_t n) = 0;
  /// Allocates n counts and sets them to zero in stream order.
  virtual uint64_t* counts(size_t n) = 0;
  virtual void set_count(uint64_t* count, uint64_t value) = 0;
  /// Allocates a sparse vector of at most `capacity` entries.
  SparseBuffer sparse(size_t capacity);
  /// Allocates memory for one message for each region, `nnz` entries in all. `plain` is
  /// Packets::plain.
  Packets packets(size_t nnz, std::span<const Region> regions,
                  Precision precision = Precision::accumulated, const bool* plain = nullptr);
  /// Returns the bytes of the values of an entry, of this precision, in a message.
  size_t wire_value_size(Precision precision) const;
  /// Returns an upper bound of the bytes of a message of at most nnz entries; see wire_bound().
  uint64_t message_bound(size_t nnz, uint64_t length, Precision precision) const;
  /// Returns the bytes of the values of `entries` entries in the accumulation type.
  size_t value_bytes(size_t entries) const {
    return entries * block_size() * size_of(accumulation(data_type()));
  }

  // --- transfer between the backend and the host
  /// Makes host bytes readable by the backend. Returns `host` itself or a copy. The host must not
  /// change the bytes before the stream has been waited for.
  virtual const std::byte* upload(ConstBytes host) = 0;
  /// Returns memory of the backend from which download() fills `host`: `host` itself if kernels can
  /// write there, else a buffer of the same size.
  virtual std::byte* download_buffer(Bytes host) = 0;
  /// Copies `from`, which download_buffer(host) returned, to `host` unless it is `host`. Waits for
  /// all earlier work.
  virtual void download(const std::byte* from, Bytes host) = 0;
  /// Copies bytes within the backend's memory. The ranges must not overlap.
  virtual void copy(const void* from, size_t bytes, void* to) = 0;

  // --- input
  /// Converts the values of `in`, which have the tensor's type, to the accumulation type.
  virtual void widen(const SparseSpan& in, void* to) = 0;
  /// Returns a caller's vector in the accumulation type: `in` itself if that is the tensor's type.
  SparseSpan widened(const SparseSpan& in);

  // --- selection
  /// Computes acc = gradient + residual and selects its k largest entries by key. `selected` gets
  /// their values rounded to the tensor's type. residual.write gets acc minus `selected`, and 0 for
  /// selected values that are not finite.
  virtual void accumulate_select(const Gradient& gradient, size_t k,
                                 const SparseBuffer& selected) = 0;
  /// Selects, like accumulate_select(), all entries whose key is at least `key`, which is 1 or
  /// more. If they exceed the capacity of `selected`, its count is their number, and both its
  /// entries and residual.write are undefined.
  virtual void accumulate_above(const Gradient& gradient, uint64_t key,
                                const SparseBuffer& selected) = 0;
  /// Computes acc = gradient + residual for every entry. Ignores residual.write.
  virtual void accumulate(const Gradient& gradient, void* acc) = 0;
  /// Does what accumulate_select() does. The values of the gradient, which are null, are the sum of
  /// the vectors in their order. The sum does not go through memory. Returns false if a vector
  /// cannot be read, or if this backend or this type has no such selection; `selected` and
  /// residual.write are undefined then.
  virtual bool accumulate_select_sum(SummedVectors& /*vectors*/, const Gradient& /*gradient*/,
                                     size_t /*k*/, const SparseBuffer& /*selected*/) {
    return false;
  }
  /// Computes the sum of the first `count` elements of the vectors. Returns false if one cannot be
  /// read, or if this backend cannot add them; `sum` is undefined then.
  virtual bool add_vectors(SummedVectors& /*vectors*/, size_t /*count*/, void* /*sum*/) {
    return false;
  }
  /// Sets all values of a residual to zero.
  virtual void zero(void* values, size_t count) = 0;
  /// Splits `in`: `kept` gets the k largest entries by key, `dropped` the other non-zeros. A
  /// `dropped` of capacity 0 gets nothing.
  virtual void top_k(const SparseSpan& in, size_t k, const SparseBuffer& kept,
                     const SparseBuffer& dropped) = 0;
  /// Adds the inputs in their order. `sum` gets every index that an input has, even if its sum is
  /// zero.
  virtual void merge(std::span<const SparseSpan> inputs, const SparseBuffer& sum) = 0;
  /// Adds the inputs in their order and keeps the sums whose key is at least `key`, which is from 1
  /// to keys().end - 1. `out` must have room for all sums.
  virtual void merge_above(std::span<const SparseSpan> inputs, uint64_t key,
                           const SparseBuffer& out) = 0;
  /// Returns an upper bound, for every backend, of the bytes that merge() or merge_above()
  /// allocates beside memory in proportion to its entries, if all indices lie within `length`.
  static size_t merge_workspace(uint64_t length);
  /// Joins the inputs in their order. Their index ranges must be disjoint and rising.
  virtual void concatenate(std::span<const SparseSpan> inputs, const SparseBuffer& out) = 0;
  /// Selects the entries that pass the threshold.
  virtual void select_above(const SparseSpan& in, const Threshold& threshold,
                            const SparseBuffer& out) = 0;

  /// Computes the smallest key of the entries, 0 if there are none.
  virtual void least_key(const SparseSpan& in, uint64_t* key) = 0;
  /// Computes the smallest key, waits for it, and returns it.
  uint64_t least_key(const SparseSpan& in) {
    uint64_t* const least = counts(1);
    least_key(in, least);
    return read(least);
  }

  // --- histograms
  /// Counts entries by key: adds the entries of bin b to bin[b], and those with larger keys to
  /// bin[bins.bins]. Ignores smaller keys.
  virtual void key_histogram(const SparseSpan& in, const KeyBins& bins, uint64_t* bin) = 0;
  /// Counts entries by index: adds the entries in [b * width, (b + 1) * width) to bin[b].
  virtual void index_histogram(const SparseSpan& in, uint64_t width, uint64_t* bin) = 0;

  /// Returns a view of the entries of `in` within the region, so that a rank need not send them to
  /// itself as a message. Returns nothing if the backend would have to copy them.
  virtual std::optional<SparseSpan> slice(const SparseSpan& in, const Region& region) = 0;

  // --- messages (kernels/wire.hpp)
  /// Rounds the values of `in` to bfloat16. `lost` gets each value minus its rounded one, 0 where
  /// the value is not finite. Not for integer types.
  virtual void round_to_bf16(const SparseSpan& in, void* rounded, void* lost) = 0;
  /// Rounds the values of `in` to 8 bits, with a scale for those of 2^bits consecutive indices; see
  /// set_scale_bits(). Otherwise as round_to_bf16().
  virtual void round_to_int8(const SparseSpan& in, void* rounded, void* lost) = 0;
  /// Packs one message for each region. Regions may come in any order; if `in` is dense, none ends
  /// beyond it. Offsets and sizes are valid before the messages are: until wait_packed() returns,
  /// `in` must not change and the arena's scope must last.
  virtual void pack_all(const SparseSpan& in, std::span<const Region> regions,
                        const Packets& out) = 0;
  /// Waits until the slab of packets() is written up to `end`, if the host reads messages there.
  /// Returns at once if `end` lies in no such slab.
  virtual void wait_packed(const std::byte* end) = 0;
  /// Keeps large messages in the device's memory until the end of the call, so that they do not
  /// cross the bus. For transports that can send from there, where messages otherwise lie in the
  /// host's memory.
  virtual void keep_large_on_device() {}
  /// Returns true if the message that begins here was kept on the device: the host cannot read it.
  virtual bool is_on_device(const std::byte* /*message*/) const { return false; }
  /// Accepts a received message that lies in the memory of this communicator's device. The message
  /// must stay unchanged until the end of the call. Returns false if the backend is another one.
  virtual bool receive_on_device(ConstBytes /*message*/) { return false; }
  /// Starts to copy a received message to the backend, if that pays, so that a later unpack_all()
  /// finds it there. The message must stay unchanged until the end of the call.
  virtual void prefetch(ConstBytes message) = 0;
  /// Reads from each header how many entries a message has; an invalid header counts as 0. The
  /// numbers are good for allocation only: unpack_all() checks the rest. Waits if messages lie in
  /// the device's memory, and for messages that this backend has not written yet.
  virtual void count_entries(std::span<const Message> messages, size_t* out) = 0;
  /// Returns where the values of a message can be read in place; null if they cannot. Call
  /// count_entries() first. The message must not move.
  virtual const void* values_in(const Message& /*message*/) const { return nullptr; }
  /// Unpacks messages and checks every field. An invalid message yields no entries and increments
  /// *fault. A buffer with a null `value` gets the indices only; see values_in().
  virtual void unpack_all(std::span<const Message> messages, std::span<const SparseBuffer> out,
                          uint64_t* fault) = 0;

  // --- results
  /// Returns to the residual the entries that were sent but not delivered, and, under the
  /// conserving rule, the dropped parts of delivered entries. Before the call, `residual` holds acc
  /// minus the sent entries.
  virtual void put_back(const Feedback& feedback, void* residual) = 0;
  /// Sets residual = acc where acc or the dense sum is zero, and 0 elsewhere: entries whose sum
  /// cancels out are in no global top-k.
  virtual void keep_cancelled(const void* acc, const SparseSpan& sum, void* residual) = 0;
  /// Computes out = in / divisor in the tensor's type. NaNs become canonical, negative zeros
  /// positive.
  virtual void deliver(const SparseSpan& in, int divisor, const SparseBuffer& out) = 0;
  /// Joins sparse inputs in their order, with any indices, and converts their values to the
  /// tensor's type, which must hold them exactly. NaNs become canonical; all other bits stay.
  virtual void deliver_concatenated(std::span<const SparseSpan> inputs,
                                    const SparseBuffer& out) = 0;
  /// Sets `dense`, the elements of a region of a vector, to zero and then to in / divisor at the
  /// entries, as deliver() computes it. All entries lie within the region. If `in` is dense, the
  /// region begins at 0.
  virtual void scatter(const SparseSpan& in, int divisor, const Region& region, void* dense) = 0;
  /// Copies a residual. NaNs become canonical.
  virtual void copy_canonical(const void* from, size_t count, void* to) = 0;
  /// Multiplies a residual by a factor. A factor of 0 also clears values that are not finite.
  virtual void scale(void* values, size_t count, double factor) = 0;
  /// Finds the first entry whose index is not above its predecessor's or not within the region.
  /// Writes its position, or the number of entries if there is none.
  virtual void check_indices(const SparseSpan& in, const Region& region, uint64_t* first_bad) = 0;

  // --- push-sum. x, its estimates and uncompressed messages have the tensor's type.
  /// Computes out = share * values.
  virtual void push_sum_share(const void* values, size_t count, double share, void* out) = 0;
  /// Computes copy += sign * change for a sparse change; `sign` is 1 or -1.
  virtual void push_sum_add_change(const SparseSpan& change, double sign, void* copy) = 0;
  /// Computes net += share * copy.
  virtual void push_sum_mix(const void* copy, size_t count, double share, void* net) = 0;
  /// Splits the weight w, which lies in the backend's memory: *out[i] = shares[i] * w, with w from
  /// before the call. Subtracts the results from w in their order.
  virtual void push_sum_split_weight(double* weight, std::span<const double> shares,
                                     std::span<double* const> out) = 0;
  /// Adds received weights to w in their order.
  virtual void push_sum_add_weights(double* weight, std::span<const double* const> arrived) = 0;
  /// Computes x = x - sent shares + received vectors + net in the accumulation type and rounds
  /// once. Then computes estimate = x / w, unless `estimate` is null.
  virtual void push_sum_update(const PushSumUpdate& update, size_t count, void* x,
                               void* estimate) = 0;

  // --- counts on the host
  /// Waits for all earlier work and copies n counts to the host.
  virtual void read(const uint64_t* counts, size_t n, uint64_t* out) = 0;
  uint64_t read(const uint64_t* count) {
    uint64_t value = 0;
    read(count, 1, &value);
    return value;
  }

 private:
  /// Allocates n bytes for `messages` messages.
  virtual std::byte* slab(size_t n, size_t messages) = 0;

  std::optional<unsigned> scale_bits_;
};

/// Creates kernels that are the host's plain loops: the executable specification. They live in the
/// arena's scope.
Kernels& make_plain_kernels(DataType data_type, IndexType index_type, Arena& arena,
                            size_t block_size = 1);

namespace host {
class Backend;
}
/// Creates kernels that use the backend's threads and vector instructions for long vectors. Their
/// results are the same bit for bit. They live in the scope of the backend's arena.
Kernels& make_host_kernels(DataType data_type, IndexType index_type, host::Backend& backend,
                           size_t block_size = 1);

}  // namespace sparsecoll
