// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// One collective call that may fail: the inputs of all ranks, the results if it succeeds, and the
// two states that a residual may have afterwards.

#include <string>
#include <vector>

#include "support/sparse_data.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace sparsecoll::unit {

struct Task {
  test::Mode mode = test::kAuto;
  bool coordinate_form = false;
  size_t n = 0;
  size_t k = 0;
  uint64_t seed = 1;
  test::Kind kind = test::Kind::kHeavyTail;
  test::SparseKind sparse_kind = test::SparseKind::kHeavyTail;
  oracle::Op op = oracle::Op::kSum;
  bool no_room = false;  ///< in coordinate form: the output is too small, so the call truncates
  size_t block = 1;      ///< in coordinate form: number of values of each of the n entries

  size_t values() const { return n * block; }
};

std::string describe(const Task& task, int P);

template <class T>
using Residuals = oracle::PerRank<std::vector<T>>;

template <class T>
struct Step {
  Task task;
  oracle::PerRank<std::vector<T>> dense;      ///< the inputs in dense form,
  oracle::PerRank<oracle::Sparse<T>> sparse;  ///< or those in coordinate form
  std::vector<T> dense_result;
  oracle::Sparse<T> sparse_result;
  Residuals<T> before;
  Residuals<T> after;
};

/// Returns random residuals to start from.
template <class T>
Residuals<T> first_residuals(const Task& task, int P);

template <class T>
Step<T> make_step(const Task& task, const Residuals<T>& before);

/// The outcome of a step on one rank.
struct Report {
  sparsecollResult_t result = sparsecollInternalError;
  double seconds = 0;
  bool changed = false;    ///< the residual has changed
  bool committed = false;  ///< the residual is that after the call; equal to both if a call changes
                           ///< nothing
  std::string message;
  std::string wrong;  ///< an error in the result or the residual, which must never happen
};

/// Makes the call on one rank. sparsecollTruncated counts as success, and the data are fetched.
template <class T>
Report make_call(const Step<T>& step, int rank, sparsecollComm_t comm,
                 const test::Residual<T>& residual);

/// Returns the outcome as text for failed tests: "sparsecollTimeout [message], residual changed,
/// 0.2 s".
std::string describe(const Report& report);

}  // namespace sparsecoll::unit
