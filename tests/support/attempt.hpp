// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A call of one rank with arguments that may be bad, and its effects.

#include <sparsecoll/sparsecoll.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "support/config.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {

/// The arguments of a verb, in dense or in coordinate form.
struct Arguments {
  bool coordinate_form;
  Verb verb;
  const void* send;
  void* recv;
  std::size_t count;
  std::size_t k;
  sparsecollDataType_t datatype;
  sparsecollRedOp_t op;
  sparsecollResidual_t residual;
  sparsecollComm_t comm;
  sparsecollStream_t stream;
  sparsecollSparse_t in;
  sparsecollSparse_t out;
  bool no_in;   ///< pass NULL instead of in
  bool no_out;  ///< pass NULL instead of out
};

/// The memory of one rank: buffers that also hold other types and lengths, and residuals of every
/// kind.
class Tensor {
 public:
  static constexpr std::size_t kLength = 1000;
  static constexpr std::size_t kKept = 23;
  static constexpr std::size_t kEntries = 40;

  /// `foreign` is a residual of another communicator, or NULL.
  Tensor(sparsecollComm_t comm, int rank, sparsecollResidual_t foreign);

  /// Returns the valid arguments of all ranks.
  Arguments usual(bool coordinate_form, Verb verb);

  /// Returns all memory that a refused call must not change.
  std::vector<std::uint64_t> image(const Arguments& arguments) const;

  sparsecollComm_t comm;
  std::vector<float> send;
  std::vector<float> recv;
  std::vector<std::uint32_t> in_narrow, out_narrow;
  std::vector<std::uint64_t> in_wide, out_wide;
  std::vector<float> in_values, out_values;
  std::vector<double> in_doubles, out_doubles;
  Residual<float> residual;
  Residual<float> longer;
  Residual<double> doubles;
  sparsecollResidual_t foreign;
  sparsecollResidual_t destroyed = nullptr;
};

struct Attempt {
  sparsecollResult_t result;
  std::string message;
  bool changed;  ///< the call has changed the rank's memory
  std::uint64_t sequence;
  std::chrono::steady_clock::time_point start;
  std::chrono::steady_clock::time_point end;
};

/// Makes the call and finds what it changed. `arguments` may be bad.
Attempt attempt(const Tensor& tensor, Arguments arguments);

}  // namespace sparsecoll::test
