// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A case is one shape of a tensor and one kind of data. It is called a few times, and every rank
// compares results, residuals and unchanged inputs with the oracle, bit for bit.

#include <cstdint>
#include <string>
#include <vector>

#include "support/config.hpp"
#include "support/data.hpp"
#include "support/ranks.hpp"
#include "support/sparse_data.hpp"

namespace sparsecoll::test {

/// Returns a floating-point type, each with the same probability.
sparsecollDataType_t some_type(std::uint64_t h);
/// Returns any type, integers too.
sparsecollDataType_t any_type(std::uint64_t h);

struct Case {
  std::uint64_t seed = 1;
  Mode mode = kAuto;
  std::size_t n = 0;
  std::size_t k = 0;
  Kind kind = Kind::kIntegers;
  oracle::Op op = oracle::Op::kSum;
  sparsecollDataType_t type = sparsecollFloat32;
  bool feedback = false;
  bool in_place = false;
  int calls = 1;
};

std::string describe(const Case& c, int P);

/// Runs the case on all ranks. Returns "" or the difference.
std::string run_case(const Ranks& ranks, const Case& c);

/// Runs the case on one rank, for ranks that share no memory: each computes the oracle's answer for
/// itself.
std::string join_case(sparsecollComm_t comm, const Case& c);

/// Returns the values of k to test for n: 0, 1, P - 1, 7, 1%, beyond n, SPARSECOLL_ALL.
std::vector<std::size_t> interesting_k(std::size_t n, int P);

/// Returns all combinations of n in {0, 1, P - 1, P, 1000}, interesting_k() and the kinds of data.
/// Type, operation, feedback and in place vary from case to case. Keeps one case in `thinning`.
std::vector<Case> cases_of(const Mode& mode, int P, std::uint64_t thinning);

/// Runs all cases on one communicator. Stops at the first failure.
std::string sweep(const Mode& mode, int P);

/// A case of the `v` verbs.
struct SparseCase {
  std::uint64_t seed = 1;
  Mode mode = kAuto;
  std::uint64_t count = 0;
  std::size_t k = 0;
  SparseKind kind = SparseKind::kRandom;
  oracle::Op op = oracle::Op::kSum;
  sparsecollDataType_t type = sparsecollFloat32;
  int index_type = sparsecollIndex32;
  bool feedback = false;
  int calls = 1;
  std::size_t block = 1;  ///< above 1: vectors of `count` blocks of so many values
};

std::string describe(const SparseCase& c, int P);
std::string run_case(const Ranks& ranks, const SparseCase& c);
std::string join_case(sparsecollComm_t comm, const SparseCase& c);
std::vector<SparseCase> sparse_cases_of(const Mode& mode, int P, std::uint64_t thinning);
std::string sparse_sweep(const Mode& mode, int P);

/// Returns all combinations of kinds of data, counts and sizes of blocks. The k (SPARSECOLL_ALL in
/// three of eight cases), type, operation and feedback vary from case to case. Keeps one case in
/// `thinning`.
std::vector<SparseCase> block_cases_of(const Mode& mode, int P, std::uint64_t thinning);
/// Runs all of them on one communicator. Stops at the first failure.
std::string block_sweep(const Mode& mode, int P);

}  // namespace sparsecoll::test
