// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// One collective call of a random schedule on all ranks. To add a verb, add a class like those in
// dense_calls.cpp and a line in random_call.cpp.

#include <any>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "fault/random.hpp"
#include "fault/tensor.hpp"
#include "oracle/reuse.hpp"

namespace sparsecoll::fault {

/// The configuration and tensors that the calls of one schedule share while they are planned.
struct ScheduleContext {
  int P;
  sparsecollConfig_t config;
  bool may_fail;  ///< a call may fail with a fatal error
  bool waits;     ///< a rank waits for each call before it makes the next
  std::vector<std::unique_ptr<Tensor>> tensors;
  /// Reused thresholds by index type, count, k, data type and operation.
  std::map<std::tuple<int, size_t, size_t, int, int>, std::any> replays;

  bool reuses() const { return config.selection == sparsecollSelectReuse; }
  oracle::Wire wire() const { return test::oracle_wire(config.wire); }
  /// Returns whether residuals hold one shard only, and fit sparseAllreduce and sparseReduceScatter
  /// with some bounds.
  bool shards() const { return config.algorithm == sparsecollAlgoSharded; }
  /// Returns the mode of a verb without the reuse of thresholds. replay_of() simulates the reuse.
  test::Mode mode(test::Verb verb) const {
    test::Mode mode{verb == test::Verb::kGtopk ? "gtopkAllreduce" : "sparseAllreduce", verb,
                    config.algorithm, config.residualRule};
    mode.wire = config.wire;
    return mode;
  }
};

/// The bad argument that a rank passes. Each verb interprets the values in its own way.
enum class BadArgument { kNone, kEnumerator, kStream, kNull };

class RandomCall {
 public:
  virtual ~RandomCall() = default;

  virtual std::string describe() const = 0;
  /// Makes one rank's call, or queues it.
  virtual sparsecollResult_t make(int rank, sparsecollComm_t comm, BadArgument bad_argument) = 0;
  /// Returns whether the completed call returns sparsecollTruncated on this rank.
  virtual bool truncates(int rank) const = 0;
  /// Compares the output of a completed call with the oracle's; returns "" if they are equal.
  /// `may_fetch`: no other call was made since, so that a truncated result can be fetched.
  virtual std::string check_output(int rank, sparsecollComm_t comm, bool may_fetch) = 0;
  /// Checks that a refused call wrote no output. Returns "" or names the output.
  virtual std::string check_untouched(int rank) const = 0;
  /// Checks what only the outputs of all ranks together show. Runs after all ranks ended.
  virtual std::string check_all_ranks() const { return ""; }
  /// Returns how many collective calls were made once the output is checked.
  virtual uint64_t collective_calls() const { return 1; }
  /// Returns whether the call creates communicators. In them a rank may wait for another rank whose
  /// call on the old communicator failed.
  virtual bool splits_communicator() const { return false; }
};

/// The arguments of the planning functions.
struct Plan {
  Random& random;
  ScheduleContext& context;
  Tensor& tensor;
  bool refused;       ///< the call will fail on all ranks and change nothing
  bool may_truncate;  ///< outputs may be too short; the call may also save files
};

/// Plans a random verb that a group may contain.
std::unique_ptr<RandomCall> plan_verb(const Plan& plan);
/// Plans a random collective call: a verb, a group, a split, or push-sum.
std::unique_ptr<RandomCall> plan_call(const Plan& plan);

// Each function plans one kind of call. It returns null if the configuration or the tensor does not
// allow that call.
std::unique_ptr<RandomCall> plan_dense(const Plan& plan);
std::unique_ptr<RandomCall> plan_coordinates(const Plan& plan);
std::unique_ptr<RandomCall> plan_integers(const Plan& plan);
std::unique_ptr<RandomCall> plan_reduce_scatter(const Plan& plan);
std::unique_ptr<RandomCall> plan_alltoall(const Plan& plan);
std::unique_ptr<RandomCall> plan_group(const Plan& plan);
std::unique_ptr<RandomCall> plan_split(const Plan& plan);
std::unique_ptr<RandomCall> plan_gossip(const Plan& plan);

/// Returns a random configuration with the default deadline.
sparsecollConfig_t random_config(Random& random);

/// Appends a tensor of random type and length to the context's tensors.
void add_tensor(Random& random, ScheduleContext& context);

/// Calls body(TypedTensor<T>&) with the type of the tensor.
template <class Body>
auto with_type_of(Tensor& tensor, const Body& body) {
  if (auto* half = dynamic_cast<TypedTensor<oracle::Float16>*>(&tensor)) return body(*half);
  if (auto* brain = dynamic_cast<TypedTensor<oracle::Bfloat16>*>(&tensor)) return body(*brain);
  if (auto* wide = dynamic_cast<TypedTensor<double>*>(&tensor)) return body(*wide);
  return body(dynamic_cast<TypedTensor<float>&>(tensor));
}

/// Returns a random number of entries to keep of n.
size_t random_k(Random& random, size_t n, bool reuses);

/// Returns the simulated thresholds of the calls of one shape planned so far. `form` is the index
/// type, or kDenseForm.
inline constexpr int kDenseForm = -1;
template <class T>
oracle::ReuseReplay<T>& replay_of(ScheduleContext& context, int form, size_t n, size_t k,
                                  oracle::Op op) {
  std::any& kept = context.replays[{form, n, k, test::kDatatype<T>, static_cast<int>(op)}];
  if (!kept.has_value())
    kept = oracle::ReuseReplay<T>(static_cast<size_t>(context.P), k,
                                  static_cast<uint64_t>(context.config.thresholdInterval),
                                  context.wire());
  return *std::any_cast<oracle::ReuseReplay<T>>(&kept);
}

}  // namespace sparsecoll::fault
