// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Measures Kernels::pack_all, which packs one rank's selection into messages for the owners of
// equal regions, and Kernels::unpack_all, which unpacks such messages.
#include "device/bench.hpp"
#include "device/data.hpp"
#include "device/kernel_timer.hpp"
#include "device/passes.hpp"

namespace sparsecoll::perf::device {
namespace {

/// A selection of k entries of a vector of length n, packed into `messages` messages.
struct Shape {
  size_t n;
  size_t k;
  size_t messages;

  std::vector<Region> regions() const {
    std::vector<Region> all;
    for (size_t p = 0; p < messages; ++p) all.push_back({n * p / messages, n * (p + 1) / messages});
    return all;
  }
};

template <class T>
class MessageBench {
  using Acc = Accumulation<T>;

 public:
  MessageBench(const Bench& bench, const Shape& shape)
      : bench_(bench), shape_(shape), regions_(shape.regions()) {
    entries_ = device_.kernels->sparse(shape.k);
    device_.kernels->set_count(entries_.nnz, shape.k);
    fill_input<Acc>(device_.backend, bench.options.seed,
                    {static_cast<uint32_t*>(entries_.index), static_cast<Acc*>(entries_.value),
                     shape.k, shape.n / shape.k});
    packets_ = device_.kernels->packets(shape.k, regions_, Precision::stored);
  }

  void run() {
    const bool packs = bench_.options.kernel == "pack";
    const auto pack = [&] {
      device_.kernels->pack_all(entries_.span().stored(), regions_, packets_);
    };
    Row row;
    row.count = shape_.n;
    row.k = shape_.k;
    row.kernel_ranks = static_cast<int>(shape_.messages);
    if (packs)
      row.times = timer_.measure(pack);
    else
      pack();
    read_sizes();
    if (!packs) {
      prepare_unpack();
      row.times = timer_.measure([&] { device_.kernels->unpack_all(messages_, arrived_, fault_); });
    }
    row.output_size = wire_bytes();
    row.bytes = static_cast<double>(*row.output_size + shape_.k * (sizeof(uint32_t) + sizeof(Acc)));
    const bool check = bench_.options.check && shape_.k <= bench_.options.check_count;
    if (check) row.wrong = packs ? wrong_bytes() : wrong_entries();
    row.baselines = {measure_copy(static_cast<size_t>(row.bytes) / 2)};
    bench_.progress.clear();
    bench_.report.write(row);
  }

 private:
  void read_sizes() {
    offset_.resize(shape_.messages);
    size_.resize(shape_.messages);
    device_.kernels->read(packets_.offset, shape_.messages, offset_.data());
    device_.kernels->read(packets_.size, shape_.messages, size_.data());
  }

  size_t wire_bytes() const {
    size_t sum = 0;
    for (const uint64_t size : size_) sum += size;
    return sum;
  }

  void prepare_unpack() {
    for (size_t p = 0; p < shape_.messages; ++p) {
      messages_.push_back({{packets_.slab + offset_[p], size_[p]}, regions_[p]});
      // Entries are spread evenly; the ends of a region may add two.
      const size_t most = regions_[p].length() / (shape_.n / shape_.k) + 2;
      arrived_.push_back(device_.kernels->sparse(std::min(most, shape_.k)));
    }
    fault_ = device_.kernels->counts(1);
  }

  Times measure_copy(size_t bytes) {
    const Arena::Scope scope(device_.backend.arena());
    auto* const from = device_.template take<std::byte>(bytes);
    auto* const to = device_.template take<std::byte>(bytes);
    return timer_.measure([&] { copy(device_.backend, {from, bytes}, to); });
  }

  /// Returns the number of bytes that differ from the messages that the host packs.
  size_t wrong_bytes() {
    Host<T> host;
    const auto index = device_.template download<uint32_t>(entries_.index, shape_.k);
    const auto value = device_.template download<Acc>(entries_.value, shape_.k);
    uint64_t* const k = host.kernels.counts(1);
    *k = shape_.k;
    const SparseSpan in{index.data(), value.data(), {shape_.k, k}};
    const Packets want = host.kernels.packets(shape_.k, regions_, Precision::stored);
    host.kernels.pack_all(in.stored(), regions_, want);
    host.kernels.wait_packed(want.slab + want.capacity);
    size_t wrong = 0;
    for (size_t p = 0; p < shape_.messages; ++p) {
      const size_t common = std::min(size_[p], want.size[p]);
      const auto got = device_.template download<std::byte>(packets_.slab + offset_[p], common);
      wrong += std::max(size_[p], want.size[p]) - common;
      wrong += differing(got, want.slab + want.offset[p]);
    }
    return wrong;
  }

  /// Returns the number of unpacked entries that differ from the packed ones.
  size_t wrong_entries() {
    const auto index = device_.template download<uint32_t>(entries_.index, shape_.k);
    const auto value = device_.template download<Acc>(entries_.value, shape_.k);
    size_t wrong = device_.kernels->read(fault_), done = 0;
    for (const SparseBuffer& part : arrived_) {
      const size_t nnz = std::min(device_.kernels->read(part.nnz), shape_.k - done);
      wrong += differing(device_.template download<uint32_t>(part.index, nnz), &index[done]);
      wrong += differing(device_.template download<Acc>(part.value, nnz), &value[done]);
      done += nnz;
    }
    return wrong + (shape_.k - done);
  }

  const Bench& bench_;
  const Shape shape_;
  const std::vector<Region> regions_;
  Device<T> device_;
  KernelTimer timer_{device_.backend, bench_.options};
  SparseBuffer entries_;
  Packets packets_;
  std::vector<uint64_t> offset_, size_;
  std::vector<Message> messages_;
  std::vector<SparseBuffer> arrived_;
  uint64_t* fault_ = nullptr;
};

}  // namespace

template <class T>
void measure_messages(const Bench& bench) {
  for (const size_t n : lengths(bench.options, sizeof(T))) {
    for (const size_t k : selections(bench.options, n)) {
      for (const int messages : bench.options.kernel_ranks) {
        if (k == 0) continue;
        bench.progress.show("n = " + std::to_string(n) + ", k = " + std::to_string(k) + ", " +
                            std::to_string(messages) + " messages");
        MessageBench<T>(bench, {n, k, static_cast<size_t>(messages)}).run();
      }
    }
  }
}

template void measure_messages<float>(const Bench&);
template void measure_messages<double>(const Bench&);
template void measure_messages<Float16>(const Bench&);
template void measure_messages<Bfloat16>(const Bench&);

}  // namespace sparsecoll::perf::device
