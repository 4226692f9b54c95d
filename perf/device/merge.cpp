// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Kernels::merge beside a copy of as many bytes and beside a sort of all entries.
#include <new>

#include "device/baselines.hpp"
#include "device/bench.hpp"
#include "device/clock.hpp"
#include "device/data.hpp"
#include "device/passes.hpp"

namespace sparsecoll::perf::device {
namespace {

/// More entries in all pieces together are left out: they would fill the memory.
constexpr size_t kMostEntries = size_t{1} << 28;

/// `pieces` vectors of `k` entries below n.
struct Shape {
  size_t n;
  size_t k;
  size_t pieces;

  size_t entries() const { return k * pieces; }
};

template <class T>
class MergeBench {
  using Acc = Accumulation<T>;

 public:
  MergeBench(const Bench& bench, const Shape& shape) : bench_(bench), shape_(shape) {
    all_index_ = device_.template take<uint32_t>(shape.entries());
    all_value_ = device_.template take<Acc>(shape.entries());
    for (size_t p = 0; p < shape.pieces; ++p) add_piece(p);
    sum_ = device_.kernels->sparse(std::min(shape.entries(), shape.n));
  }

  void run() {
    Row row;
    row.count = shape_.n;
    row.k = shape_.k;
    row.pieces = static_cast<int>(shape_.pieces);
    row.times = clock_.measure([&] { device_.kernels->merge(pieces_, sum_); });
    row.made = device_.kernels->read(sum_.nnz);
    row.bytes = static_cast<double>((shape_.entries() + *row.made) * kEntry);
    const bool check = bench_.options.check && shape_.entries() <= bench_.options.check_count;
    if (check) row.wrong = count_wrong();
    row.beside = {measure_copy(static_cast<size_t>(row.bytes) / 2), measure_sort()};
    bench_.progress.clear();
    bench_.sheet.write(row);
  }

 private:
  static constexpr size_t kEntry = sizeof(uint32_t) + sizeof(Acc);

  /// In memory of its own, as pieces arrive, and behind the others for the sort.
  void add_piece(size_t p) {
    const SparseBuffer piece = device_.kernels->sparse(shape_.k);
    device_.kernels->set_count(piece.nnz, shape_.k);
    auto* const index = static_cast<uint32_t*>(piece.index);
    auto* const value = static_cast<Acc*>(piece.value);
    fill_input<Acc>(device_.backend, bench_.options.seed * 4096 + p,
                    {index, value, shape_.k, shape_.n / shape_.k});
    copy(device_.backend, std::as_bytes(std::span(index, shape_.k)),
         reinterpret_cast<std::byte*>(all_index_ + p * shape_.k));
    copy(device_.backend, std::as_bytes(std::span(value, shape_.k)),
         reinterpret_cast<std::byte*>(all_value_ + p * shape_.k));
    pieces_.push_back(piece.span());
  }

  Times measure_copy(size_t bytes) {
    const Arena::Scope scope(device_.backend.arena());
    auto* const from = device_.template take<std::byte>(bytes);
    auto* const to = device_.template take<std::byte>(bytes);
    return clock_.measure([&] { copy(device_.backend, {from, bytes}, to); });
  }

  std::optional<Times> measure_sort() {
    try {
      const Arena::Scope scope(device_.backend.arena());
      const MergeTask<Acc> task{all_index_,
                                all_value_,
                                shape_.entries(),
                                device_.template take<uint32_t>(shape_.entries()),
                                device_.template take<Acc>(shape_.entries()),
                                device_.template take<uint64_t>(1)};
      return clock_.measure([&] { sort_and_reduce<Acc>(device_.backend, task); }, 0.5);
    } catch (const std::bad_alloc&) {
      return std::nullopt;
    }
  }

  size_t count_wrong() {
    Host<T> host;
    const auto index = device_.template download<uint32_t>(all_index_, shape_.entries());
    const auto value = device_.template download<Acc>(all_value_, shape_.entries());
    uint64_t* const k = host.kernels.counts(1);
    *k = shape_.k;
    std::vector<SparseSpan> pieces;
    for (size_t p = 0; p < shape_.pieces; ++p) {
      const size_t first = p * shape_.k;
      pieces.push_back({index.data() + first, value.data() + first, {shape_.k, k}});
    }
    const SparseBuffer want = host.kernels.sparse(sum_.capacity);
    host.kernels.merge(pieces, want);
    return differing<T>(device_, sum_, want);
  }

  const Bench& bench_;
  const Shape shape_;
  Device<T> device_;
  Clock clock_{device_.backend, bench_.options};
  uint32_t* all_index_;
  Acc* all_value_;
  std::vector<SparseSpan> pieces_;
  SparseBuffer sum_;
};

}  // namespace

template <class T>
void measure_merge(const Bench& bench) {
  for (const size_t n : lengths(bench.options, sizeof(T))) {
    for (const size_t k : selections(bench.options, n)) {
      for (const int pieces : bench.options.pieces) {
        const Shape shape{n, k, static_cast<size_t>(pieces)};
        const std::string name = "n = " + std::to_string(n) + ", k = " + std::to_string(k) + ", " +
                                 std::to_string(pieces) + " pieces";
        if (k == 0) continue;
        if (shape.entries() > kMostEntries) {
          bench.progress.clear();
          bench.sheet.note("left out: " + name + ", which are more than 2^28 entries");
          continue;
        }
        bench.progress.show(name);
        MergeBench<T>(bench, shape).run();
      }
    }
  }
}

template void measure_merge<float>(const Bench&);
template void measure_merge<double>(const Bench&);
template void measure_merge<Float16>(const Bench&);
template void measure_merge<Bfloat16>(const Bench&);

}  // namespace sparsecoll::perf::device
