// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Measures Kernels::merge, a copy of as many bytes, and a sort of all entries.
#include <new>

#include "device/baselines.hpp"
#include "device/bench.hpp"
#include "device/data.hpp"
#include "device/kernel_timer.hpp"
#include "device/passes.hpp"

namespace sparsecoll::perf::device {
namespace {

/// Shapes whose inputs have more entries together are left out, because they would fill the memory.
constexpr size_t kMostEntries = size_t{1} << 28;

/// A merge of `inputs` sparse vectors of length n with k entries each.
struct Shape {
  size_t n;
  size_t k;
  size_t inputs;

  size_t entries() const { return k * inputs; }
};

template <class T>
class MergeBench {
  using Acc = Accumulation<T>;

 public:
  MergeBench(const Bench& bench, const Shape& shape) : bench_(bench), shape_(shape) {
    all_index_ = device_.template take<uint32_t>(shape.entries());
    all_value_ = device_.template take<Acc>(shape.entries());
    for (size_t p = 0; p < shape.inputs; ++p) add_input(p);
    sum_ = device_.kernels->sparse(std::min(shape.entries(), shape.n));
  }

  void run() {
    Row row;
    row.count = shape_.n;
    row.k = shape_.k;
    row.kernel_ranks = static_cast<int>(shape_.inputs);
    row.times = timer_.measure([&] { device_.kernels->merge(inputs_, sum_); });
    row.output_size = device_.kernels->read(sum_.nnz);
    row.bytes = static_cast<double>((shape_.entries() + *row.output_size) * kEntry);
    const bool check = bench_.options.check && shape_.entries() <= bench_.options.check_count;
    if (check) row.wrong = count_wrong();
    row.baselines = {measure_copy(static_cast<size_t>(row.bytes) / 2), measure_sort()};
    bench_.progress.clear();
    bench_.report.write(row);
  }

 private:
  static constexpr size_t kEntry = sizeof(uint32_t) + sizeof(Acc);

  /// Generates input p in memory of its own, like a received vector, and copies it behind the other
  /// inputs for the sort.
  void add_input(size_t p) {
    const SparseBuffer input = device_.kernels->sparse(shape_.k);
    device_.kernels->set_count(input.nnz, shape_.k);
    auto* const index = static_cast<uint32_t*>(input.index);
    auto* const value = static_cast<Acc*>(input.value);
    fill_input<Acc>(device_.backend, bench_.options.seed * 4096 + p,
                    {index, value, shape_.k, shape_.n / shape_.k});
    copy(device_.backend, std::as_bytes(std::span(index, shape_.k)),
         reinterpret_cast<std::byte*>(all_index_ + p * shape_.k));
    copy(device_.backend, std::as_bytes(std::span(value, shape_.k)),
         reinterpret_cast<std::byte*>(all_value_ + p * shape_.k));
    inputs_.push_back(input.span());
  }

  Times measure_copy(size_t bytes) {
    const Arena::Scope scope(device_.backend.arena());
    auto* const from = device_.template take<std::byte>(bytes);
    auto* const to = device_.template take<std::byte>(bytes);
    return timer_.measure([&] { copy(device_.backend, {from, bytes}, to); });
  }

  /// Returns nothing if the sort does not fit into the memory.
  std::optional<Times> measure_sort() {
    try {
      const Arena::Scope scope(device_.backend.arena());
      const MergeTask<Acc> task{all_index_,
                                all_value_,
                                shape_.entries(),
                                device_.template take<uint32_t>(shape_.entries()),
                                device_.template take<Acc>(shape_.entries()),
                                device_.template take<uint64_t>(1)};
      return timer_.measure([&] { sort_and_reduce<Acc>(device_.backend, task); }, 0.5);
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
    std::vector<SparseSpan> inputs;
    for (size_t p = 0; p < shape_.inputs; ++p) {
      const size_t first = p * shape_.k;
      inputs.push_back({index.data() + first, value.data() + first, {shape_.k, k}});
    }
    const SparseBuffer want = host.kernels.sparse(sum_.capacity);
    host.kernels.merge(inputs, want);
    return differing<T>(device_, sum_, want);
  }

  const Bench& bench_;
  const Shape shape_;
  Device<T> device_;
  KernelTimer timer_{device_.backend, bench_.options};
  uint32_t* all_index_;
  Acc* all_value_;
  std::vector<SparseSpan> inputs_;
  SparseBuffer sum_;
};

}  // namespace

template <class T>
void measure_merge(const Bench& bench) {
  for (const size_t n : lengths(bench.options, sizeof(T))) {
    for (const size_t k : selections(bench.options, n)) {
      for (const int inputs : bench.options.kernel_ranks) {
        const Shape shape{n, k, static_cast<size_t>(inputs)};
        const std::string name = "n = " + std::to_string(n) + ", k = " + std::to_string(k) + ", " +
                                 std::to_string(inputs) + " inputs";
        if (k == 0) continue;
        if (shape.entries() > kMostEntries) {
          bench.progress.clear();
          bench.report.note("left out: " + name + ", which are more than 2^28 entries");
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
