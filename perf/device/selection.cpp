// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Measures Kernels::accumulate_select, passes over the same memory, and selections written with
// CUB.
#include <new>

#include "device/baselines.hpp"
#include "device/bench.hpp"
#include "device/data.hpp"
#include "device/kernel_timer.hpp"
#include "device/passes.hpp"

namespace sparsecoll::perf::device {
namespace {

/// Baselines make this fraction of the calls, because they are many times slower.
constexpr double kSlowPart = 0.25;

/// Measures selections from vectors of one length.
template <class T>
class SelectionBench {
  using Acc = Accumulation<T>;

 public:
  SelectionBench(const Bench& bench, size_t n)
      : bench_(bench),
        n_(n),
        values_(device_.template take<T>(n)),
        residual_(device_.template take<Acc>(n)),
        next_(device_.template take<Acc>(n)) {}

  void run(const std::string& input) {
    bench_.progress.show(input + ", n = " + std::to_string(n_));
    const uint64_t seed = bench_.options.seed;
    fill<T>(device_.backend, input, 3 * seed, {values_, n_});
    fill<Acc>(device_.backend, "random", 3 * seed + 1, {residual_, n_});
    if (checked()) {
      host_values_ = device_.template download<T>(values_, n_);
      host_residual_ = device_.template download<Acc>(residual_, n_);
    }
    measure_passes();
    for (const size_t k : selections(bench_.options, n_))
      for (const bool feedback : {false, true}) run_case(input, k, feedback);
  }

 private:
  bool checked() const { return bench_.options.check && n_ <= bench_.options.check_count; }

  void measure_passes() {
    const Arena::Scope scope(device_.backend.arena());
    cuda::Backend& backend = device_.backend;
    T* const other = device_.template take<T>(n_);
    Key<T>* const largest = device_.template take<Key<T>>(1);
    const std::span<const T> values(values_, n_);
    fill<Acc>(backend, "random", 3 * bench_.options.seed + 2, {next_, n_});
    passes_ = {timer_.measure([&] {
                 copy(backend, std::as_bytes(values), reinterpret_cast<std::byte*>(other));
               }),
               timer_.measure([&] { add<T>(backend, values, next_); }),
               timer_.measure([&] { reduce<T>(backend, values, largest); })};
  }

  void run_case(const std::string& input, size_t k, bool feedback) {
    const Arena::Scope scope(device_.backend.arena());
    const SparseBuffer selected = device_.kernels->sparse(k);
    Gradient gradient{values_, n_, {}};
    if (feedback) gradient.residual = {residual_, next_};
    Row row;
    row.count = n_;
    row.k = k;
    row.input = input;
    row.feedback = feedback;
    row.bytes = static_cast<double>(n_ * (sizeof(T) + (feedback ? 2 * sizeof(Acc) : 0)));
    row.times = timer_.measure([&] { device_.kernels->accumulate_select(gradient, k, selected); });
    if (checked()) row.wrong = count_wrong(k, feedback, selected);
    row.baselines.assign(passes_.begin(), passes_.end());
    const SelectTask<T> task{
        values_, feedback ? residual_ : nullptr,         feedback ? next_ : nullptr,       n_,
        k,       static_cast<uint32_t*>(selected.index), static_cast<Acc*>(selected.value)};
    row.baselines.push_back(measure_baseline(sort_chain<T>, task));
    row.baselines.push_back(measure_baseline(unfused_chain<T>, task));
    row.baselines.push_back(has_device_topk() ? measure_baseline(device_topk<T>, task)
                                              : std::nullopt);
    bench_.progress.clear();
    bench_.report.write(row);
  }

  /// Returns nothing if the baseline does not fit into the memory.
  std::optional<Times> measure_baseline(void (*baseline)(cuda::Backend&, const SelectTask<T>&),
                                        const SelectTask<T>& task) {
    if (task.k == 0) return std::nullopt;
    try {
      return timer_.measure([&] { baseline(device_.backend, task); }, kSlowPart);
    } catch (const std::bad_alloc&) {
      return std::nullopt;
    }
  }

  size_t count_wrong(size_t k, bool feedback, const SparseBuffer& selected) {
    Host<T> host;
    const SparseBuffer want = host.kernels.sparse(k);
    Gradient gradient{host_values_.data(), n_, {}};
    std::vector<Acc> left(feedback ? n_ : 0);
    if (feedback) gradient.residual = {host_residual_.data(), left.data()};
    host.kernels.accumulate_select(gradient, k, want);
    const size_t wrong = differing<T>(device_, selected, want);
    if (!feedback) return wrong;
    return wrong + differing(device_.template download<Acc>(next_, n_), left.data());
  }

  const Bench& bench_;
  const size_t n_;
  Device<T> device_;
  KernelTimer timer_{device_.backend, bench_.options};
  T* const values_;
  Acc* const residual_;
  Acc* const next_;
  std::vector<T> host_values_;
  std::vector<Acc> host_residual_;
  std::vector<Times> passes_;
};

}  // namespace

template <class T>
void measure_selection(const Bench& bench) {
  for (const size_t n : lengths(bench.options, sizeof(T))) {
    SelectionBench<T> one(bench, n);
    for (const std::string& input : bench.options.inputs) one.run(input);
  }
}

template void measure_selection<float>(const Bench&);
template void measure_selection<double>(const Bench&);
template void measure_selection<Float16>(const Bench&);
template void measure_selection<Bfloat16>(const Bench&);

}  // namespace sparsecoll::perf::device
