// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sparsecoll/sparsecoll.h>

#include <cstddef>

#include "common/half.hpp"

namespace sparsecoll::perf {

/// Throws std::runtime_error with `what` and the library's message unless `result` is Success.
/// `comm` may be NULL for the message of this thread's last failed init.
void require(sparsecollResult_t result, sparsecollComm_t comm, const char* what);

/// Returns the library's constant for T.
template <class T>
constexpr sparsecollDataType_t datatype_of();
template <>
constexpr sparsecollDataType_t datatype_of<float>() {
  return sparsecollFloat32;
}
template <>
constexpr sparsecollDataType_t datatype_of<double>() {
  return sparsecollFloat64;
}

template <>
constexpr sparsecollDataType_t datatype_of<Float16>() {
  return sparsecollFloat16;
}
template <>
constexpr sparsecollDataType_t datatype_of<Bfloat16>() {
  return sparsecollBfloat16;
}

/// Owns a communicator. Over MPI the destructor is collective, like sparsecollCommDestroy.
class Communicator {
 public:
  explicit Communicator(sparsecollComm_t comm) : comm_(comm) {}
  Communicator(Communicator&& other) noexcept : comm_(other.comm_) { other.comm_ = nullptr; }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  Communicator& operator=(Communicator&&) = delete;
  ~Communicator();

  sparsecollComm_t get() const { return comm_; }
  sparsecollStats_t last_stats() const;

 private:
  sparsecollComm_t comm_;
};

/// Makes a communicator of one rank, for local functions. Throws std::runtime_error on failure.
Communicator connect_single_rank();

/// Owns a residual. It must be destroyed before its communicator.
class Residual {
 public:
  /// Makes an object without a residual, for calls without error feedback: get() is NULL.
  Residual() = default;
  Residual(std::size_t count, sparsecollDataType_t datatype, sparsecollComm_t comm);
  Residual(const Residual&) = delete;
  Residual& operator=(const Residual&) = delete;
  Residual& operator=(Residual&& other) noexcept;
  ~Residual();

  sparsecollResidual_t get() const { return residual_; }
  void reset();
  /// Copies the values, which have the accumulation type, to `to`. get() must not be NULL.
  void read(void* to) const;

 private:
  sparsecollResidual_t residual_ = nullptr;
  sparsecollComm_t comm_ = nullptr;
};

}  // namespace sparsecoll::perf
