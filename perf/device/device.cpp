// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "device/device.hpp"

#include "common/ranks.hpp"
#include "device/bench.hpp"

namespace sparsecoll::perf {
namespace device {
namespace {

Gpu describe_gpu() {
  int number = 0;
  cuda::check(cudaGetDevice(&number), "cudaGetDevice");
  cudaDeviceProp properties{};
  cuda::check(cudaGetDeviceProperties(&properties, number), "cudaGetDeviceProperties");
  Gpu gpu;
  gpu.name = properties.name;
  gpu.capability = std::to_string(properties.major) + '.' + std::to_string(properties.minor);
  gpu.multiprocessors = properties.multiProcessorCount;
  gpu.memory = properties.totalGlobalMem;
  gpu.cache = static_cast<size_t>(properties.l2CacheSize);
  cuda::check(cudaDriverGetVersion(&gpu.driver), "cudaDriverGetVersion");
  cuda::check(cudaRuntimeGetVersion(&gpu.runtime), "cudaRuntimeGetVersion");
  return gpu;
}

template <class T>
void measure_type(const Bench& bench) {
  if (bench.options.kernel == "select")
    measure_selection<T>(bench);
  else if (bench.options.kernel == "merge")
    measure_merge<T>(bench);
  else
    measure_messages<T>(bench);
}

int measure_kernel(const Options& options, Ranks& ranks) {
  KernelReport report(options, describe_gpu(), describe_machine(ranks));
  Progress progress(options.progress, false);
  const Bench bench{options, report, progress};
  report.header();
  if (options.datatype == "float16")
    measure_type<Float16>(bench);
  else if (options.datatype == "bfloat16")
    measure_type<Bfloat16>(bench);
  else if (options.datatype == "float64")
    measure_type<double>(bench);
  else
    measure_type<float>(bench);
  progress.clear();
  return report.conclude();
}

}  // namespace
}  // namespace device

int measure_on_device(const Options& options) {
  if (!find_device(options.program)) return kNoDevice;
  return launch({"local", 1}, [&](Ranks& ranks) { return device::measure_kernel(options, ranks); });
}

}  // namespace sparsecoll::perf
