// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Packs and unpacks messages several times. Bytes and entries are always the same, whatever the
// order of threads and blocks. The emulator changes that order in every launch.

#include "kernels/cuda/values.hpp"
#include "kernels/messages.hpp"
#include "support/catch.hpp"

namespace sparsecoll::cuda_test {
namespace {

using unit::MessageBytes;

constexpr int kRuns = 3;

/// A region, the density of its entries (one of `one_in` indices, 0: none), and the expected
/// representation.
struct Part {
  Region region;
  uint64_t one_in;
  Representation expected;
};

/// Returns parts for every representation, and one without entries.
const std::vector<Part>& parts() {
  static const std::vector<Part> all{{{0, 1000000}, 40009, Representation::coded},
                                     {{1000000, 1200001}, 40, Representation::coded},
                                     {{1200001, 1200017}, 0, Representation::coded},
                                     {{1200017, 1220000}, 3, Representation::bitmap},
                                     {{1220000, 1223003}, 1, Representation::dense}};
  return all;
}

/// Returns values that every type can hold.
template <class Acc>
Entries<Acc> entries_of_parts() {
  Entries<Acc> entries;
  for (const auto& [region, one_in, expected] : parts())
    for (uint64_t i = region.begin; one_in != 0 && i < region.end; i += one_in)
      entries.push_back({i, static_cast<Acc>(test::noise(1, i) % 200)});
  return entries;
}

template <class T, class I>
class Repeated {
  using Acc = Accumulation<T>;

 public:
  Repeated() {
    for (const Part& part : parts()) regions_.push_back(part.region);
  }

  std::string check() {
    const std::vector<MessageBytes> messages = pack(0);
    for (size_t p = 0; p < messages.size(); ++p)
      if (messages[p][5] != static_cast<std::byte>(parts()[p].expected))
        return "another representation of part " + std::to_string(p);
    for (int run = 1; run < kRuns; ++run)
      if (pack(run) != messages) return "other messages in run " + std::to_string(run);
    std::vector<MessageBytes> spoilt = messages;
    // The inverted bit is in the unary part of the indices.
    const size_t one = EliasFanoLayout(5001, 200001).unary / 8 + 1;
    spoilt[1][sizeof(WireHeader) + one] ^= std::byte{0x80};
    for (const auto& arrived : {messages, spoilt}) {
      const Outcome first = unpack(arrived);
      if (first.faults != (arrived == spoilt ? 1 : 0)) return "another number of faults";
      for (int run = 1; run < kRuns; ++run)
        if (unpack(arrived) != first) return "other entries in run " + std::to_string(run);
      if (arrived == messages && first.entries != bits_of(entries_)) return "not what was packed";
    }
    return "";
  }

 private:
  /// Packs into a slab that holds other bytes in every run, because all bytes must be written.
  std::vector<MessageBytes> pack(int run) {
    Kernels& kernels = device_.kernels();
    const size_t n = regions_.size();
    const Packets packets = kernels.packets(entries_.size(), regions_, Precision::stored);
    cuda::check(
        cudaMemsetAsync(packets.slab, 0x11 * run, packets.capacity, device_.backend().stream()),
        "cudaMemsetAsync");
    kernels.pack_all(device_.put(entries_).stored(), regions_, packets);
    std::vector<uint64_t> offset(n), size(n);
    kernels.read(packets.offset, n, offset.data());
    kernels.read(packets.size, n, size.data());
    std::vector<MessageBytes> messages;
    for (size_t p = 0; p < n; ++p)
      messages.push_back(device_.template download<std::byte>(packets.slab + offset[p], size[p]));
    return messages;
  }

  struct Outcome {
    uint64_t faults;
    std::vector<uint64_t> entries;  ///< of all messages, as bits
    bool operator==(const Outcome&) const = default;
  };

  Outcome unpack(const std::vector<MessageBytes>& arrived) {
    std::vector<Message> messages;
    std::vector<SparseBuffer> out;
    for (size_t p = 0; p < arrived.size(); ++p) {
      messages.push_back({{device_.upload(arrived[p]), arrived[p].size()}, regions_[p]});
      out.push_back(device_.kernels().sparse(entries_.size()));
    }
    uint64_t* const fault = device_.kernels().counts(1);
    device_.kernels().unpack_all(messages, out, fault);
    Outcome outcome{device_.kernels().read(fault), {}};
    for (const SparseBuffer& each : out) {
      const std::vector<uint64_t> bits = bits_of(device_.get(each));
      outcome.entries.insert(outcome.entries.end(), bits.begin(), bits.end());
    }
    return outcome;
  }

  const Entries<Acc> entries_ = entries_of_parts<Acc>();
  std::vector<Region> regions_;
  DeviceBackend<Acc, I, data_type_of<T>()> device_;
};

TEMPLATE_TEST_CASE("messages packed and unpacked again are the same", "", float, double, Float16,
                   Bfloat16) {
  CHECK(Repeated<TestType, uint32_t>().check() == "");
  if (!test::small_run()) CHECK(Repeated<TestType, uint64_t>().check() == "");
}

}  // namespace
}  // namespace sparsecoll::cuda_test
