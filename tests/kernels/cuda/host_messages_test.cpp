// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests messages in host memory: the sizes arrive first, then the slab chunk by chunk.

#include "kernels/cuda/device_backend.hpp"
#include "kernels/wire.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"

namespace sparsecoll::cuda_test {
namespace {

constexpr size_t kTestChunk = 4096;
constexpr uint64_t kLength = 70000;

/// A device backend whose messages are in host memory, and the host's backend.
struct Backends {
  Backends() { device.backend().tuning().chunk = kTestChunk; }
  unit::Backend<float, uint32_t> host;
  DeviceBackend<float, uint32_t, DataType::float32> device{MessageLocation::on_host};
};

Entries<float> some_entries(size_t n, uint64_t seed) {
  Entries<float> entries;
  for (uint64_t i = 0; entries.size() < n; i += 1 + test::noise(seed, i) % 9)
    entries.push_back({i, static_cast<float>(i % 1000)});
  return entries;
}

TEST_CASE("the host reads each chunk of a message as soon as it is written") {
  for (const size_t n : {size_t{0}, size_t{1}, size_t{1000}, size_t{10000}}) {
    CAPTURE(n);
    Backends backends;
    const Entries<float> entries = some_entries(n, n);
    Kernels &host = backends.host.kernels(), &device = backends.device.kernels();
    // Unordered regions: one is empty, one has most of the entries.
    const std::vector<Region> regions{{50000, kLength}, {0, 40000}, {40000, 40000}, {40000, 50000}};
    const Packets want = host.packets(n, regions), got = device.packets(n, regions);
    host.pack_all(backends.host.put(entries), regions, want);
    host.wait_packed(want.slab + want.capacity);
    device.pack_all(backends.device.put(entries), regions, got);
    uint64_t offset[4], size[4];
    device.read(got.size, 4, size);
    device.read(got.offset, 4, offset);
    for (size_t p = 0; p < 4; ++p) {
      REQUIRE(offset[p] == want.offset[p]);
      REQUIRE(size[p] == want.size[p]);
      for (size_t at = 0; at < size[p];) {
        const size_t part = std::min<size_t>(1000, size[p] - at);
        const std::byte* const from = got.slab + offset[p] + at;
        device.wait_packed(from + part);
        CHECK(std::memcmp(from, want.slab + want.offset[p] + at, part) == 0);
        at += part;
      }
    }
    device.wait_packed(want.slab + 1);  // not in any of these messages, so it waits for nothing
  }
}

TEST_CASE("messages that were fetched are unpacked from there") {
  Backends backends;
  backends.device.backend().tuning().prefetch_from = 1000;
  const Entries<float> entries = some_entries(5000, 3);
  const Region whole{0, kLength};
  Kernels &host = backends.host.kernels(), &device = backends.device.kernels();
  const Packets packed = host.packets(entries.size(), {&whole, 1});
  host.pack_all(backends.host.put(entries), {&whole, 1}, packed);
  host.wait_packed(packed.slab + packed.capacity);
  // Two messages in a row, as in a message that contains several.
  std::vector<std::byte> both(2 * packed.size[0] + 8);
  const ConstBytes one{packed.slab + packed.offset[0], packed.size[0]};
  std::copy(one.begin(), one.end(), both.begin());
  std::copy(one.begin(), one.end(), both.begin() + static_cast<ptrdiff_t>(one.size()) + 8);
  device.prefetch(both);
  device.prefetch(both);
  backends.device.backend().wait();
  std::fill(both.begin() + sizeof(WireHeader), both.begin() + static_cast<ptrdiff_t>(one.size()),
            std::byte{0xff});
  const SparseBuffer out[2] = {device.sparse(5000), device.sparse(5000)};
  const Message messages[2] = {{ConstBytes(both).first(one.size()), whole},
                               {ConstBytes(both).last(one.size()), whole}};
  uint64_t* const fault = device.counts(1);
  device.unpack_all(messages, out, fault);
  CHECK(device.read(fault) == 0);
  for (const SparseBuffer& each : out)
    CHECK(test::difference("", backends.device.get(each), entries) == "");
  backends.device.backend().staging().reset();
  device.unpack_all({messages, 1}, {out, 1}, fault);  // reads host memory, which has been damaged
  CHECK(device.read(fault) == 1);
}

}  // namespace
}  // namespace sparsecoll::cuda_test
