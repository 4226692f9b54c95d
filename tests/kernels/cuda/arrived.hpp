// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Unpacks the same messages on the host and on the device.

#include "kernels/cuda/device_backend.hpp"
#include "kernels/messages.hpp"

namespace sparsecoll::cuda_test {

using unit::MessageBytes;

/// A received message, which is the first `size` of these bytes. The bytes behind it must not
/// matter.
struct Arrived {
  MessageBytes bytes;
  size_t size;
  Region region;
  size_t capacity;
  bool dense = false;  ///< unpacked into a vector without indices
};

/// Arrays in one block of memory, separated by guard bytes that nobody may change.
class Fenced {
 public:
  /// Adds an array and returns its offset.
  size_t add(size_t bytes) {
    const size_t at = bytes_.size();
    taken_.push_back({at, bytes});
    bytes_.resize(align_up(at + bytes, 8) + kFence, std::byte{0xcd});
    return at;
  }
  const MessageBytes& bytes() const { return bytes_; }
  /// Returns whether all bytes of `now` outside the arrays are unchanged.
  bool intact(const MessageBytes& now) const {
    size_t end = 0;
    const auto same = [&](size_t begin) {
      return std::all_of(now.begin() + static_cast<ptrdiff_t>(end),
                         now.begin() + static_cast<ptrdiff_t>(begin),
                         [](std::byte each) { return each == std::byte{0xcd}; });
    };
    for (const auto& [at, bytes] : taken_) {
      if (!same(at)) return false;
      end = at + bytes;
    }
    return same(now.size());
  }

 private:
  static constexpr size_t kFence = 64;
  MessageBytes bytes_ = MessageBytes(kFence, std::byte{0xcd});
  std::vector<std::pair<size_t, size_t>> taken_;
};

/// Consecutive messages, each `shift` bytes off alignment, and buffers for their entries.
template <class T, class I>
struct Post {
  using Acc = Accumulation<T>;
  DeviceBackend<Acc, I, data_type_of<T>()> backend;
  std::vector<Message> messages;
  std::vector<SparseBuffer> out;
  uint64_t* counts;  ///< number of faults, then the number of entries of each message
  Fenced fenced;
  std::byte* memory;

  Post(const std::vector<Arrived>& all, size_t shift)
      : counts(backend.kernels().counts(all.size() + 1)) {
    backend.kernels().set_scale_bits(unit::kScaleBits);
    MessageBytes bytes;
    std::vector<size_t> at, index, value;
    for (const Arrived& one : all) {
      at.push_back(align_up(bytes.size(), 8) + shift);
      bytes.resize(at.back());
      bytes.insert(bytes.end(), one.bytes.begin(), one.bytes.end());
      index.push_back(fenced.add(one.capacity * sizeof(I)));
      value.push_back(fenced.add(one.capacity * sizeof(Acc)));
    }
    const std::byte* const slab = backend.upload(bytes);
    memory = backend.upload(fenced.bytes());
    for (size_t m = 0; m < all.size(); ++m) {
      messages.push_back({{slab + at[m], all[m].size}, all[m].region});
      out.push_back({all[m].dense ? nullptr : memory + index[m], memory + value[m], counts + 1 + m,
                     all[m].capacity});
    }
  }
  bool intact() {
    return fenced.intact(backend.template download<std::byte>(memory, fenced.bytes().size()));
  }
};

/// Unpacks all messages in one call on the host and in one on the device, where the messages are
/// `shift` bytes off alignment.
template <class T, class I>
std::string check_unpack(const std::vector<Arrived>& all, size_t shift) {
  using Acc = Accumulation<T>;
  const size_t n = all.size();
  unit::Backend<Acc, I, data_type_of<T>()> host;
  host.kernels().set_scale_bits(unit::kScaleBits);
  Post<T, I> post(all, shift);
  std::vector<Message> messages;
  std::vector<SparseBuffer> out;
  uint64_t faults = 0;
  for (const Arrived& one : all) {
    messages.push_back({ConstBytes(one.bytes).first(one.size), one.region});
    out.push_back(host.kernels().sparse(one.capacity));
    if (one.dense) out.back().index = nullptr;
  }
  host.kernels().unpack_all(messages, out, &faults);
  post.backend.kernels().unpack_all(post.messages, post.out, post.counts);
  std::vector<uint64_t> counts(n + 1);
  post.backend.kernels().read(post.counts, n + 1, counts.data());
  if (!post.intact()) return "wrote outside of the buffers";
  for (size_t m = 0; m < n; ++m) {
    const std::string name = "message " + std::to_string(m);
    if (counts[m + 1] != *out[m].nnz)
      return name + " has " + std::to_string(counts[m + 1]) + " entries instead of " +
             std::to_string(*out[m].nnz);
    if (counts[m + 1] == 0) continue;
    const auto* const want = static_cast<const Acc*>(out[m].value);
    std::string wrong =
        test::difference(name, post.backend.template download<Acc>(post.out[m].value, *out[m].nnz),
                         std::vector<Acc>(want, want + *out[m].nnz));
    if (!all[m].dense && wrong.empty())
      wrong = test::difference(name, post.backend.get(post.out[m]), host.get(out[m]));
    if (!wrong.empty()) return wrong;
  }
  return counts[0] == faults ? "" : std::to_string(counts[0]) + " faults";
}

}  // namespace sparsecoll::cuda_test
