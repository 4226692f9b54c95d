// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Vectors in host memory. The innermost loops of the matrix products run over columns of both
// operands and carry no sum. Hence a compiler may vectorise them without reordering additions, and
// results do not depend on the vector width. Zeros of x are skipped: about half of the pixels and
// of the ReLU outputs are 0.
#include <algorithm>
#include <cstring>
#include <new>

#include "backend.h"

namespace train {
namespace {

class HostBackend final : public Backend {
 public:
  sparsecollStream_t stream() const override { return nullptr; }

  void* allocate(std::size_t bytes) override {
    void* const at = ::operator new(bytes);
    return std::memset(at, 0, bytes);
  }
  void free(void* at) noexcept override { ::operator delete(at); }
  void write(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void read(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }

  void clear(float* x, std::size_t count) override { std::fill_n(x, count, 0.0F); }
  void copy(const float* from, float* to, std::size_t count) override {
    std::copy_n(from, count, to);
  }

  void add_product(const float* x, const float* w, float* z, const Shape& shape) override {
    const auto [rows, inner, columns] = shape;
    for (std::size_t i = 0; i < inner; ++i) {
      const float* const w_row = w + i * columns;
      for (std::size_t row = 0; row < rows; ++row) {
        const float factor = x[row * inner + i];
        if (factor == 0) continue;
        float* const z_row = z + row * columns;
        for (std::size_t j = 0; j < columns; ++j) z_row[j] += factor * w_row[j];
      }
    }
  }

  void add_transposed_product(const float* x, const float* z, float* w,
                              const Shape& shape) override {
    const auto [rows, inner, columns] = shape;
    for (std::size_t i = 0; i < inner; ++i) {
      float* const w_row = w + i * columns;
      for (std::size_t row = 0; row < rows; ++row) {
        const float factor = x[row * inner + i];
        if (factor == 0) continue;
        const float* const z_row = z + row * columns;
        for (std::size_t j = 0; j < columns; ++j) w_row[j] += factor * z_row[j];
      }
    }
  }

  void transpose(const float* from, float* to, const Shape& shape) override {
    // It proceeds in strips of rows, so that whole cache lines are written. The elements of one row
    // are written to as many cache lines, which are too many for the cache if layers are wide.
    constexpr std::size_t kStrip = 16;
    for (std::size_t top = 0; top < shape.rows; top += kStrip) {
      const std::size_t bottom = std::min(top + kStrip, shape.rows);
      for (std::size_t j = 0; j < shape.columns; ++j) {
        for (std::size_t row = top; row < bottom; ++row) {
          to[j * shape.rows + row] = from[row * shape.columns + j];
        }
      }
    }
  }

  void repeat(const float* row, float* z, const Shape& shape) override {
    for (std::size_t i = 0; i < shape.rows; ++i)
      std::copy_n(row, shape.columns, z + i * shape.columns);
  }

  void add_rows(const float* z, float* row, const Shape& shape) override {
    for (std::size_t i = 0; i < shape.rows; ++i) {
      for (std::size_t j = 0; j < shape.columns; ++j) row[j] += z[i * shape.columns + j];
    }
  }

  void relu(float* z, std::size_t count) override {
    for (std::size_t i = 0; i < count; ++i) z[i] = std::max(z[i], 0.0F);
  }
  void relu_backward(const float* activations, float* errors, std::size_t count) override {
    for (std::size_t i = 0; i < count; ++i) {
      if (activations[i] == 0) errors[i] = 0;
    }
  }

  void accumulate(std::span<float> velocity, float momentum, const float* gradient) override {
    for (std::size_t i = 0; i < velocity.size(); ++i) {
      velocity[i] = momentum * velocity[i] + gradient[i];
    }
  }
  void descend(std::span<float> x, float rate, const float* direction) override {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] -= rate * direction[i];
  }
  void descend(float* x, float rate, const sparsecollSparse_t& direction) override {
    const auto* const indices = static_cast<const std::uint32_t*>(direction.indices);
    const auto* const values = static_cast<const float*>(direction.values);
    for (std::size_t j = 0; j < direction.nnz; ++j) x[indices[j]] -= rate * values[j];
  }
  void clear(float* x, const sparsecollSparse_t& where) override {
    const auto* const indices = static_cast<const std::uint32_t*>(where.indices);
    for (std::size_t j = 0; j < where.nnz; ++j) x[indices[j]] = 0;
  }
};

}  // namespace

std::unique_ptr<Backend> make_host_backend() { return std::make_unique<HostBackend>(); }

}  // namespace train
