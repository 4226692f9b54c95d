// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "kernels/cuda/launch.cuh"

namespace sparsecoll::cuda {

/// What one launch carries in its parameters, which hold 4 KB.
template <class Row>
struct Rows {
  static constexpr size_t kMost = 3840 / sizeof(Row);
  Row row[kMost];
};

template <class Row>
__global__ void __launch_bounds__(kThreads) store_rows(Rows<Row> rows, size_t n, Row* to) {
  for (size_t j = threadIdx.x; j < n; j += kThreads) to[j] = rows.row[j];
}

/// make(p) for p < n, as an array in the workspace of the place: travels in the parameters of a
/// launch, so that the host's memory is free at once and a graph keeps what it needs.
template <class Row, class Make>
const Row* table(Backend& backend, size_t n, const Make& make) {
  Row* const all = backend.arena().take<Row>(n);
  for (size_t done = 0; done < n;) {
    Rows<Row> rows{};
    const size_t part = std::min(n - done, Rows<Row>::kMost);
    for (size_t j = 0; j < part; ++j) rows.row[j] = make(done + j);
    launch(backend, 1, store_rows<Row>, rows, part, all + done);
    done += part;
  }
  return all;
}

}  // namespace sparsecoll::cuda
