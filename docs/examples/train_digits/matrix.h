// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

// The three matrix loops of a fully connected layer. Matrices are rows x columns without gaps. The
// innermost loops run over columns of both operands and carry no sum, so that a compiler may
// vectorise them without reordering any addition: results do not depend on the vector width.
// Zeros of x are skipped: pixels and ReLU outputs are about half zeros.
namespace train {

/// z (rows x columns) += x (rows x inner) * w (inner x columns)
inline void add_product(const float* x, const float* w, float* z, std::size_t rows,
                        std::size_t inner, std::size_t columns) {
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

/// w (inner x columns) += transposed x (rows x inner) * z (rows x columns)
inline void add_transposed_product(const float* x, const float* z, float* w, std::size_t rows,
                                   std::size_t inner, std::size_t columns) {
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

/// to (columns x rows) = transposed from (rows x columns)
inline void transpose(const float* from, float* to, std::size_t rows, std::size_t columns) {
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t j = 0; j < columns; ++j) to[j * rows + row] = from[row * columns + j];
  }
}

}  // namespace train
