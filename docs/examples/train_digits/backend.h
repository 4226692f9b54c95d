// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sparsecoll/sparsecoll.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace train {

/// The shape of a matrix operation. Matrices are stored by rows, without gaps.
struct Shape {
  std::size_t rows;
  std::size_t inner;
  std::size_t columns;
};

/// The memory of one rank's vectors, the host's or a GPU's, and the arithmetic of the training on
/// them. Sums have the same order on both, so that results are the same bit for bit. Pointers are
/// to this memory unless noted otherwise. Operations run in the order of the calls.
class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  /// Returns the stream to pass to sparsecoll, or NULL on the host. Calls on it run after earlier
  /// operations and before later ones.
  virtual sparsecollStream_t stream() const = 0;

  /// Allocates memory, filled with zeros.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void free(void* at) noexcept = 0;
  /// Copies from host memory, and to it. The host memory can be used again when they return.
  virtual void write(void* to, const void* from, std::size_t bytes) = 0;
  virtual void read(void* to, const void* from, std::size_t bytes) = 0;

  virtual void clear(float* x, std::size_t count) = 0;
  virtual void copy(const float* from, float* to, std::size_t count) = 0;

  /// z (rows x columns) += x (rows x inner) * w (inner x columns)
  virtual void add_product(const float* x, const float* w, float* z, const Shape& shape) = 0;
  /// w (inner x columns) += transposed x (rows x inner) * z (rows x columns)
  virtual void add_transposed_product(const float* x, const float* z, float* w,
                                      const Shape& shape) = 0;
  /// to (columns x rows) = transposed from (rows x columns); `inner` is not used
  virtual void transpose(const float* from, float* to, const Shape& shape) = 0;
  /// every row of z = row; `inner` is not used
  virtual void repeat(const float* row, float* z, const Shape& shape) = 0;
  /// row += every row of z; `inner` is not used
  virtual void add_rows(const float* z, float* row, const Shape& shape) = 0;
  /// z = max(z, 0); and the backward pass: errors become 0 where the activation is 0.
  virtual void relu(float* z, std::size_t count) = 0;
  virtual void relu_backward(const float* activations, float* errors, std::size_t count) = 0;

  /// velocity = momentum velocity + gradient
  virtual void accumulate(std::span<float> velocity, float momentum, const float* gradient) = 0;
  /// x -= rate * direction
  virtual void descend(std::span<float> x, float rate, const float* direction) = 0;
  /// x -= rate * direction for a sparse direction; and x = 0 at the indices of `where`
  virtual void descend(float* x, float rate, const sparsecollSparse_t& direction) = 0;
  virtual void clear(float* x, const sparsecollSparse_t& where) = 0;
};

std::unique_ptr<Backend> make_host_backend();

/// Makes a backend on the GPU of that rank, and makes this GPU the calling thread's current device.
/// Ranks share GPUs if there are fewer GPUs than ranks. Throws std::runtime_error without a GPU.
std::unique_ptr<Backend> make_device_backend(int rank);
/// Returns the reason why no GPU can be used, or "" if one can.
std::string why_no_device();

/// A vector in the memory of a backend. Its values are 0 at first.
template <class T>
class Vector {
 public:
  explicit Vector(Backend& backend, std::size_t count = 0) : backend_(&backend) { reserve(count); }
  ~Vector() {
    if (data_) backend_->free(data_);
  }
  Vector(Vector&& other) noexcept
      : backend_(other.backend_),
        data_(std::exchange(other.data_, nullptr)),
        count_(std::exchange(other.count_, 0)) {}
  Vector& operator=(Vector&&) = delete;

  T* data() const { return data_; }
  std::size_t size() const { return count_; }
  std::span<T> span() const { return {data_, count_}; }

  /// Makes room for `count` values. If the vector grows, all values become 0.
  void reserve(std::size_t count) {
    if (count <= count_) return;
    if (data_) backend_->free(std::exchange(data_, nullptr));
    count_ = 0;
    data_ = static_cast<T*>(backend_->allocate(count * sizeof(T)));
    count_ = count;
  }
  void write(std::span<const T> values) {
    reserve(values.size());
    backend_->write(data_, values.data(), values.size_bytes());
  }

 private:
  Backend* backend_;
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

/// Returns a copy of the values in host memory.
inline std::vector<float> read(Backend& backend, std::span<const float> values) {
  std::vector<float> copy(values.size());
  backend.read(copy.data(), values.data(), values.size_bytes());
  return copy;
}

}  // namespace train
