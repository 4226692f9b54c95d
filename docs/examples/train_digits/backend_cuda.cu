// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Vectors in GPU memory. A thread computes one element at a time and adds in the order of the loops
// in backend_host.cpp. Compiled with -fmad=false, as here, the sums have the same bits.
#include <cuda_runtime.h>

#include <algorithm>
#include <stdexcept>

#include "backend.h"

namespace train {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kBlocksPerMultiprocessor = 8;

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

// Thread t of T threads computes the elements t, t + T, t + 2 T, ...
__device__ std::size_t first() { return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ std::size_t stride() { return std::size_t{gridDim.x} * blockDim.x; }

__global__ void add_product_kernel(const float* x, const float* w, float* z, Shape shape) {
  for (std::size_t at = first(); at < shape.rows * shape.columns; at += stride()) {
    const std::size_t row = at / shape.columns, j = at % shape.columns;
    float sum = z[at];
    for (std::size_t i = 0; i < shape.inner; ++i) {
      const float factor = x[row * shape.inner + i];
      if (factor != 0) sum += factor * w[i * shape.columns + j];
    }
    z[at] = sum;
  }
}

__global__ void add_transposed_product_kernel(const float* x, const float* z, float* w,
                                              Shape shape) {
  for (std::size_t at = first(); at < shape.inner * shape.columns; at += stride()) {
    const std::size_t i = at / shape.columns, j = at % shape.columns;
    float sum = w[at];
    for (std::size_t row = 0; row < shape.rows; ++row) {
      const float factor = x[row * shape.inner + i];
      if (factor != 0) sum += factor * z[row * shape.columns + j];
    }
    w[at] = sum;
  }
}

__global__ void transpose_kernel(const float* from, float* to, Shape shape) {
  for (std::size_t at = first(); at < shape.rows * shape.columns; at += stride()) {
    to[at] = from[at % shape.rows * shape.columns + at / shape.rows];
  }
}

__global__ void repeat_kernel(const float* row, float* z, Shape shape) {
  for (std::size_t at = first(); at < shape.rows * shape.columns; at += stride()) {
    z[at] = row[at % shape.columns];
  }
}

__global__ void add_rows_kernel(const float* z, float* row, Shape shape) {
  for (std::size_t j = first(); j < shape.columns; j += stride()) {
    for (std::size_t i = 0; i < shape.rows; ++i) row[j] += z[i * shape.columns + j];
  }
}

__global__ void relu_kernel(float* z, std::size_t count) {
  for (std::size_t i = first(); i < count; i += stride()) z[i] = z[i] < 0 ? 0 : z[i];
}

__global__ void relu_backward_kernel(const float* activations, float* errors, std::size_t count) {
  for (std::size_t i = first(); i < count; i += stride()) {
    if (activations[i] == 0) errors[i] = 0;
  }
}

__global__ void accumulate_kernel(std::span<float> velocity, float momentum,
                                  const float* gradient) {
  for (std::size_t i = first(); i < velocity.size(); i += stride()) {
    velocity[i] = momentum * velocity[i] + gradient[i];
  }
}

__global__ void descend_kernel(std::span<float> x, float rate, const float* direction) {
  for (std::size_t i = first(); i < x.size(); i += stride()) x[i] -= rate * direction[i];
}

// Indices are distinct, so that no two threads write the same element.
__global__ void descend_sparse_kernel(float* x, float rate, sparsecollSparse_t direction) {
  const auto* const indices = static_cast<const std::uint32_t*>(direction.indices);
  const auto* const values = static_cast<const float*>(direction.values);
  for (std::size_t j = first(); j < direction.nnz; j += stride()) {
    x[indices[j]] -= rate * values[j];
  }
}

__global__ void clear_sparse_kernel(float* x, sparsecollSparse_t where) {
  const auto* const indices = static_cast<const std::uint32_t*>(where.indices);
  for (std::size_t j = first(); j < where.nnz; j += stride()) x[indices[j]] = 0;
}

class DeviceBackend final : public Backend {
 public:
  explicit DeviceBackend(int device) {
    check(cudaSetDevice(device), "cudaSetDevice");
    int multiprocessors = 0;
    check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
          "cudaDeviceGetAttribute");
    most_blocks_ = kBlocksPerMultiprocessor * static_cast<unsigned>(multiprocessors);
    // On a non-blocking stream a rank's work does not wait for the work of other ranks.
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }
  ~DeviceBackend() override { cudaStreamDestroy(stream_); }

  sparsecollStream_t stream() const override { return stream_; }

  void* allocate(std::size_t bytes) override {
    void* at = nullptr;
    check(cudaMalloc(&at, bytes), "cudaMalloc");
    check(cudaMemsetAsync(at, 0, bytes, stream_), "cudaMemsetAsync");
    return at;
  }
  void free(void* at) noexcept override { cudaFree(at); }
  void write(void* to, const void* from, std::size_t bytes) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), "cudaMemcpyAsync");
    wait();  // the caller may change `from` afterwards
  }
  void read(void* to, const void* from, std::size_t bytes) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_), "cudaMemcpyAsync");
    wait();
  }

  void clear(float* x, std::size_t count) override {
    check(cudaMemsetAsync(x, 0, count * sizeof *x, stream_), "cudaMemsetAsync");
  }
  void copy(const float* from, float* to, std::size_t count) override {
    check(cudaMemcpyAsync(to, from, count * sizeof *to, cudaMemcpyDeviceToDevice, stream_),
          "cudaMemcpyAsync");
  }

  void add_product(const float* x, const float* w, float* z, const Shape& shape) override {
    launch(shape.rows * shape.columns, add_product_kernel, x, w, z, shape);
  }
  void add_transposed_product(const float* x, const float* z, float* w,
                              const Shape& shape) override {
    launch(shape.inner * shape.columns, add_transposed_product_kernel, x, z, w, shape);
  }
  void transpose(const float* from, float* to, const Shape& shape) override {
    launch(shape.rows * shape.columns, transpose_kernel, from, to, shape);
  }
  void repeat(const float* row, float* z, const Shape& shape) override {
    launch(shape.rows * shape.columns, repeat_kernel, row, z, shape);
  }
  void add_rows(const float* z, float* row, const Shape& shape) override {
    launch(shape.columns, add_rows_kernel, z, row, shape);
  }
  void relu(float* z, std::size_t count) override { launch(count, relu_kernel, z, count); }
  void relu_backward(const float* activations, float* errors, std::size_t count) override {
    launch(count, relu_backward_kernel, activations, errors, count);
  }

  void accumulate(std::span<float> velocity, float momentum, const float* gradient) override {
    launch(velocity.size(), accumulate_kernel, velocity, momentum, gradient);
  }
  void descend(std::span<float> x, float rate, const float* direction) override {
    launch(x.size(), descend_kernel, x, rate, direction);
  }
  void descend(float* x, float rate, const sparsecollSparse_t& direction) override {
    launch(direction.nnz, descend_sparse_kernel, x, rate, direction);
  }
  void clear(float* x, const sparsecollSparse_t& where) override {
    launch(where.nnz, clear_sparse_kernel, x, where);
  }

 private:
  /// Launches a kernel with about one thread for each element. It calls a function instead of using
  /// <<< >>>, so that a C++ compiler can compile this file for tests without a GPU.
  template <class... Parameters, class... Arguments>
  void launch(std::size_t elements, void (*kernel)(Parameters...), const Arguments&... arguments) {
    cudaLaunchConfig_t config{};
    const std::size_t blocks = (elements + kThreads - 1) / kThreads;
    config.gridDim = dim3(static_cast<unsigned>(std::clamp<std::size_t>(blocks, 1, most_blocks_)));
    config.blockDim = dim3(kThreads);
    config.stream = stream_;
    check(cudaLaunchKernelEx(&config, kernel, arguments...), "launch of a kernel");
  }
  void wait() { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

  cudaStream_t stream_ = nullptr;
  unsigned most_blocks_ = 0;
};

int count_devices() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess ? devices : 0;
}

}  // namespace

std::string why_no_device() {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error != cudaSuccess) return std::string("no CUDA device: ") + cudaGetErrorString(error);
  return devices > 0 ? "" : "no CUDA device";
}

std::unique_ptr<Backend> make_device_backend(int rank) {
  const int devices = count_devices();
  if (devices == 0) throw std::runtime_error(why_no_device());
  return std::make_unique<DeviceBackend>(rank % devices);
}

}  // namespace train
