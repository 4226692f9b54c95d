// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A call of sparseAlltoall or sparseReduceScatter, and all ways in which the call of one rank may
// differ from the others'.

#include <string>
#include <vector>

#include "support/compare.hpp"
#include "support/exchange_sweep.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {

inline constexpr std::uint64_t kCount = 100;
inline constexpr int kRanks = 4;

/// The arguments of both verbs, and the memory to which they point.
struct ExchangeCall {
  explicit ExchangeCall(sparsecollComm_t communicator)
      : comm(communicator),
        input(kCount, sparsecollIndex32, oracle::Sparse<float>{{1, 1.0f}, {40, 2.0f}, {99, 3.0f}}),
        output(kCount, sparsecollIndex32, 50),
        residual(communicator, kCount),
        doubles(communicator, kCount),
        in(*input.get()),
        out(*output.get()) {}

  sparsecollComm_t comm;
  SparseBuffer<float> input, output;
  Residual<float> residual;
  Residual<double> doubles;
  std::vector<float> dense = std::vector<float>(kCount, 1.0f);
  std::vector<std::size_t> borders{0, 20, 50, 80, kCount};
  std::vector<std::size_t> counts = std::vector<std::size_t>(kRanks, 77);
  std::vector<std::uint64_t> spare = std::vector<std::uint64_t>(kCount);

  // The arguments of a call.
  bool reduces = false;  ///< sparseReduceScatter
  sparsecollSparse_t in, out;
  const sparsecollSparse_t* send = &in;
  sparsecollSparse_t* recv = &out;
  const void* sendbuff = dense.data();
  std::size_t count = kCount;
  std::size_t k = 10;
  sparsecollDataType_t datatype = sparsecollFloat32;
  sparsecollRedOp_t op = sparsecollSum;
  sparsecollResidual_t feedback = residual.handle();
  const std::size_t* bounds = borders.data();
  std::size_t* recvcounts = counts.data();
  sparsecollStream_t stream = nullptr;

  sparsecollResult_t run() {
    if (!reduces) return sparseAlltoall(send, recv, recvcounts, bounds, comm, stream);
    return sparseReduceScatter(sendbuff, recv, count, k, datatype, op, bounds, feedback, comm,
                               stream);
  }
  /// Returns all memory that a refused call must not change.
  std::vector<std::uint64_t> image() const {
    std::vector<std::uint64_t> all = output.image();
    all.insert(all.end(), counts.begin(), counts.end());
    for (const float value : residual.read()) all.push_back(bits(value));
    all.insert(all.end(), {out.count, out.nnz, out.needed});
    return all;
  }
};

struct Difference {
  const char* name;
  bool reduces;
  bool bad;
  void (*apply)(ExchangeCall&);
  /// See Deviation.
  std::vector<std::vector<std::string>> words = {};
};

inline constexpr const char* kFunction[] = {"sparseAlltoall", "sparseReduceScatter"};

std::vector<Difference> all_differences();

}  // namespace sparsecoll::test
