// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The C API with C++ types: the parts that several tests need.

#include <sparsecoll/sparsecoll.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "oracle/exchange.hpp"
#include "oracle/half.hpp"
#include "oracle/non_finite.hpp"
#include "oracle/sharded.hpp"
#include "oracle/wire.hpp"
#include "support/config.hpp"

namespace sparsecoll::test {

template <class T>
constexpr sparsecollDataType_t datatype_of() {
  if constexpr (std::is_same_v<T, std::int32_t>) return sparsecollInt32;
  if constexpr (std::is_same_v<T, std::int64_t>) return sparsecollInt64;
  if constexpr (std::is_same_v<T, oracle::Float16>) return sparsecollFloat16;
  if constexpr (std::is_same_v<T, oracle::Bfloat16>) return sparsecollBfloat16;
  if constexpr (std::is_same_v<T, float>) return sparsecollFloat32;
  if constexpr (std::is_same_v<T, double>) return sparsecollFloat64;
}
template <class T>
inline constexpr sparsecollDataType_t kDatatype = datatype_of<T>();

/// Calls body(T{}) with the floating-point type T that `type` stands for.
template <class Body>
auto with_type(sparsecollDataType_t type, Body body) {
  if (type == sparsecollFloat16) return body(oracle::Float16{});
  if (type == sparsecollBfloat16) return body(oracle::Bfloat16{});
  if (type == sparsecollFloat64) return body(double{});
  return body(float{});
}

/// Calls body for the type of a datatype, integers included.
template <class Body>
auto with_any_type(sparsecollDataType_t type, Body body) {
  if (type == sparsecollInt32) return body(std::int32_t{});
  if (type == sparsecollInt64) return body(std::int64_t{});
  return with_type(type, body);
}

inline const char* name_of(sparsecollDataType_t type) {
  if (type == sparsecollInt32) return "int32";
  if (type == sparsecollInt64) return "int64";
  if (type == sparsecollFloat16) return "float16";
  if (type == sparsecollBfloat16) return "bfloat16";
  return type == sparsecollFloat64 ? "float64" : "float32";
}

/// A residual of one rank; no handle when `wanted` is false.
template <class T>
class Residual {
 public:
  Residual(sparsecollComm_t comm, std::size_t count, bool wanted = true) : count_(count) {
    if (!wanted) return;
    const sparsecollResult_t result = sparsecollResidualCreate(&handle_, count, kDatatype<T>, comm);
    if (result != sparsecollSuccess) {
      throw std::runtime_error("sparsecollResidualCreate: " + explain(result, comm));
    }
  }
  Residual(Residual&& other) noexcept : handle_(other.handle_), count_(other.count_) {
    other.handle_ = nullptr;
  }
  Residual& operator=(Residual&&) = delete;
  /// Does nothing after the communicator's end, because the handle is invalid then.
  ~Residual() {
    if (handle_ != nullptr) sparsecollResidualDestroy(handle_);
  }

  sparsecollResidual_t handle() const { return handle_; }

  /// Returns the values, which have the accumulation type.
  std::vector<oracle::Wide<T>> read() const {
    std::vector<oracle::Wide<T>> values(count_);
    const sparsecollResult_t result = sparsecollResidualRead(handle_, values.data());
    if (result != sparsecollSuccess) {
      throw std::runtime_error(std::string("sparsecollResidualRead: ") +
                               sparsecollGetErrorString(result));
    }
    return values;
  }

  void write(const std::vector<oracle::Wide<T>>& values) {
    const sparsecollResult_t result = sparsecollResidualWrite(handle_, values.data());
    if (result != sparsecollSuccess) {
      throw std::runtime_error(std::string("sparsecollResidualWrite: ") +
                               sparsecollGetErrorString(result));
    }
  }

 private:
  sparsecollResidual_t handle_ = nullptr;
  std::size_t count_;
};

/// Returns one residual for each rank, made by the main thread.
template <class T>
std::vector<Residual<T>> make_residuals(const std::vector<sparsecollComm_t>& comms,
                                        std::size_t count, bool wanted) {
  std::vector<Residual<T>> residuals;
  for (sparsecollComm_t comm : comms) residuals.emplace_back(comm, count, wanted);
  return residuals;
}

/// Returns the result of a call. With blocking = 0, waits for it.
inline sparsecollResult_t settle(sparsecollResult_t queued, sparsecollComm_t comm) {
  return queued == sparsecollSuccess && queued_run() ? sparsecollCommSynchronize(comm) : queued;
}

/// Returns the result of a group with the calls of `body()`.
template <class Body>
sparsecollResult_t in_group(sparsecollComm_t comm, Body body) {
  if (sparsecollGroupStart(comm) != sparsecollSuccess) return sparsecollInternalError;
  body();
  return settle(sparsecollGroupEnd(comm), comm);
}

/// The arguments that dense verbs have in common.
template <class T>
struct DenseCall {
  const T* send;
  T* recv;
  std::size_t n;
  std::size_t k;
  sparsecollRedOp_t op = sparsecollSum;
  sparsecollResidual_t residual = nullptr;
};

template <class T>
sparsecollResult_t call_dense_verb(Verb verb, const DenseCall<T>& c, sparsecollComm_t comm) {
  const auto function = verb == Verb::kGtopk ? gtopkAllreduce : sparseAllreduce;
  return settle(function(c.send, c.recv, c.n, c.k, kDatatype<T>, c.op, c.residual, comm, nullptr),
                comm);
}

/// The arguments that `v` verbs have in common.
struct SparseCall {
  const sparsecollSparse_t* send;
  sparsecollSparse_t* recv;
  std::size_t k;
  sparsecollRedOp_t op = sparsecollSum;
  sparsecollResidual_t residual = nullptr;
};

inline sparsecollResult_t call_sparse_verb(Verb verb, const SparseCall& c, sparsecollComm_t comm) {
  const auto function = verb == Verb::kGtopk ? gtopkAllreducev : sparseAllreducev;
  return settle(function(c.send, c.recv, c.k, c.op, c.residual, comm, nullptr), comm);
}

/// Returns whether the algorithm rounds sums and sends them on.
constexpr oracle::Sums sums_of(const Mode& mode) {
  return info_of(mode).rounds_sums ? oracle::Sums::kTravel : oracle::Sums::kStay;
}

/// Returns how the oracles round the values of a configuration.
constexpr oracle::Wire oracle_wire(int wire) {
  if (wire == sparsecollWireNative) return oracle::Wire::kNative;
  return wire == sparsecollWireBf16 ? oracle::Wire::kBf16 : oracle::Wire::kInt8;
}

/// Returns the call that the oracle of Sharded computes for a mode.
inline oracle::ShardedCall sharded_call(const Mode& mode, std::size_t k, oracle::Op op,
                                        std::size_t ranks) {
  return {k, op, nodes_of(mode, ranks), oracle_wire(mode.wire)};
}

/// Sets values of all ranks' residuals to 0 where the residuals of this mode hold none.
template <class A>
void keep_what_is_held(const Mode& mode, oracle::PerRank<std::vector<A>>& residuals) {
  if (info_of(mode).result != ResultKind::sharded || residuals.empty()) return;
  const std::size_t n = residuals[0].size(), P = residuals.size();
  const auto held = oracle::shards_of(n, P, nodes_of(mode, P));
  for (std::size_t r = 0; r < P; ++r) {
    for (std::size_t i = 0; i < n; ++i) {
      if (i < held[r].begin || i >= held[r].end) residuals[r][i] = 0;
    }
  }
}

/// Returns the oracle's result of a dense verb that updates residuals, whatever the values.
template <class T>
oracle::DenseOutcome<T> updated(const Mode& mode, const oracle::DenseInputs<T>& in, std::size_t k,
                                oracle::Op op) {
  using Oracle = oracle::Oracle<T>;
  using Rounding = oracle::WireOracle<T>;
  const oracle::Wire wire = oracle_wire(mode.wire);
  const ResultKind kind = info_of(mode).result;
  if (mode.verb == Verb::kSparse && kind == ResultKind::whole_sum) {
    return Oracle::dense_allreduce(in, op);
  }
  if (mode.verb == Verb::kSparse && kind == ResultKind::sharded) {
    return oracle::ShardedOracle<T>::sparse_allreduce(in,
                                                      sharded_call(mode, k, op, in.sends.size()));
  }
  if (wire != oracle::Wire::kNative) {
    if (mode.verb == Verb::kGtopk) return Rounding::gtopk_allreduce(in, k, op, rule_of(mode), wire);
    if (kind == ResultKind::shard_sums) return Rounding::topka2a(in, k, op, wire);
    return Rounding::sparse_allreduce(in, k, op, sums_of(mode), wire);
  }
  if (mode.verb == Verb::kGtopk) return Oracle::gtopk_allreduce(in, k, op, rule_of(mode));
  if (kind == ResultKind::shard_sums) {
    return oracle::ExchangeOracle<T>::topka2a(in, k, op);
  }
  return Oracle::sparse_allreduce(in, k, op, levels_of(mode, in.sends.size()));
}

/// Returns the oracle's result of a `v` verb that updates residuals, whatever the values.
template <class T>
oracle::SparseOutcome<T> updated(const Mode& mode, const oracle::SparseInputs<T>& in,
                                 std::uint64_t k, oracle::Op op) {
  using Oracle = oracle::Oracle<T>;
  using Rounding = oracle::WireOracle<T>;
  const oracle::Wire wire = oracle_wire(mode.wire);
  if (wire != oracle::Wire::kNative) {
    if (mode.verb == Verb::kGtopk)
      return Rounding::gtopk_allreducev(in, k, op, rule_of(mode), wire);
    return Rounding::sparse_allreducev(in, k, op, sums_of(mode), wire);
  }
  if (mode.verb == Verb::kGtopk) return Oracle::gtopk_allreducev(in, k, op, rule_of(mode));
  return Oracle::sparse_allreducev(in, k, op, levels_of(mode, in.sends.size()));
}

/// Returns whether the residuals of a call stay as they were (sparsecollNonFiniteSkip).
template <class Send, class T>
bool skips(const Mode& mode, const oracle::Inputs<Send, T>& in) {
  if (mode.non_finite != sparsecollNonFiniteSkip) return false;
  if constexpr (std::is_same_v<Send, std::vector<T>>) {
    if (info_of(mode).result == ResultKind::sharded && mode.verb == Verb::kSparse)
      return oracle::any_not_finite(in, nodes_of(mode, in.sends.size()));
  }
  return oracle::any_not_finite(in);
}

/// Returns the oracle's result of a dense verb.
template <class T>
oracle::DenseOutcome<T> expected(const Mode& mode, const oracle::DenseInputs<T>& in, std::size_t k,
                                 oracle::Op op) {
  auto outcome = updated<T>(mode, in, k, op);
  if (skips(mode, in)) outcome.residuals = in.residuals;
  return outcome;
}

/// Returns the oracle's result of a `v` verb.
template <class T>
oracle::SparseOutcome<T> expected(const Mode& mode, const oracle::SparseInputs<T>& in,
                                  std::uint64_t k, oracle::Op op) {
  auto outcome = updated<T>(mode, in, k, op);
  if (skips(mode, in)) outcome.residuals = in.residuals;
  return outcome;
}

}  // namespace sparsecoll::test
