// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#ifndef SPARSECOLL_TESTS_SIMT_CUB_BLOCK_SCAN_CUH_
#define SPARSECOLL_TESTS_SIMT_CUB_BLOCK_SCAN_CUH_

#include "cuda_runtime.h"

namespace cub {

/// Sums over the threads of a block. A call leaves the storage in use, as CUB's does: synchronize
/// before the next call.
template <class T, int kThreads>
class BlockScan {
 public:
  struct TempStorage {
    T value[kThreads];
  };
  explicit BlockScan(TempStorage& storage) : storage_(storage) {}

  void ExclusiveSum(T in, T& out) {
    T all;
    ExclusiveSum(in, out, all);
  }
  void ExclusiveSum(T in, T& out, T& all) {
    storage_.value[threadIdx.x] = in;
    __syncthreads();
    T before{}, sum{};
    for (unsigned t = 0; t < kThreads; ++t) {
      if (t == threadIdx.x) before = sum;
      sum = static_cast<T>(sum + storage_.value[t]);
    }
    out = before;
    all = sum;
  }

 private:
  TempStorage& storage_;
};

}  // namespace cub

#endif  // SPARSECOLL_TESTS_SIMT_CUB_BLOCK_SCAN_CUH_
