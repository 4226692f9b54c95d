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

/// Of matrices, which are rows x columns without gaps.
struct Shape {
  std::size_t rows;
  std::size_t inner;
  std::size_t columns;
};

/// Where one rank's vectors are, and what training computes there: the host's memory, or a GPU's.
/// Every sum has the same order in both, so that results are the same bit for bit. Pointers are to
/// the place's memory unless said otherwise; work is done in the order in which it was asked for.
class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  /// What sparsecoll's calls are given: they come after the work so far, and the next work after
  /// them. NULL on the host.
  virtual sparsecollStream_t stream() const = 0;

  /// Zeros.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void free(void* at) noexcept = 0;
  /// From the host's memory, and to it.
  virtual void write(void* to, const void* from, std::size_t bytes) = 0;
  virtual void read(void* to, const void* from, std::size_t bytes) = 0;

  virtual void clear(float* x, std::size_t count) = 0;
  virtual void copy(const float* from, float* to, std::size_t count) = 0;

  /// z (rows x columns) += x (rows x inner) * w (inner x columns)
  virtual void add_product(const float* x, const float* w, float* z, const Shape& shape) = 0;
  /// w (inner x columns) += transposed x (rows x inner) * z (rows x columns)
  virtual void add_transposed_product(const float* x, const float* z, float* w,
                                      const Shape& shape) = 0;
  /// to (columns x rows) = transposed from (rows x columns); no `inner`
  virtual void transpose(const float* from, float* to, const Shape& shape) = 0;
  /// Every row of z = row; no `inner`
  virtual void repeat(const float* row, float* z, const Shape& shape) = 0;
  /// row += every row of z; no `inner`
  virtual void add_rows(const float* z, float* row, const Shape& shape) = 0;
  /// ReLU, and on the way back: no error passes where it was closed.
  virtual void relu(float* z, std::size_t count) = 0;
  virtual void relu_backward(const float* activations, float* errors, std::size_t count) = 0;

  /// velocity = momentum velocity + gradient
  virtual void accumulate(std::span<float> velocity, float momentum, const float* gradient) = 0;
  /// x -= rate * direction
  virtual void descend(std::span<float> x, float rate, const float* direction) = 0;
  /// The same where a sparse vector has entries, and zeros there.
  virtual void descend(float* x, float rate, const sparsecollSparse_t& direction) = 0;
  virtual void clear(float* x, const sparsecollSparse_t& where) = 0;
};

std::unique_ptr<Backend> make_host_backend();

/// The GPU of that rank, which shares it where there are fewer GPUs than ranks. Becomes the calling
/// thread's current device.
std::unique_ptr<Backend> make_device_backend(int rank);
/// Why there is no GPU to make one on; empty where there is.
std::string why_no_device();

/// A vector at a place; zeros at first.
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

  /// Room for `count` values; zeros where there was less before.
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

/// The values of a vector at a place, on the host.
inline std::vector<float> read(Backend& backend, std::span<const float> values) {
  std::vector<float> copy(values.size());
  backend.read(copy.data(), values.data(), values.size_bytes());
  return copy;
}

}  // namespace train
