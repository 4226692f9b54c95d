// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// One collective call of a random schedule, on all ranks. A new verb is a class like those in
// dense_calls.cpp and a line in random_call.cpp.

#include <any>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "fault/dice.hpp"
#include "fault/tensor.hpp"
#include "oracle/reuse.hpp"

namespace sparsecoll::fault {

/// What the calls of one schedule share while they are planned.
struct World {
  int P;
  sparsecollConfig_t config;
  bool may_fail;  ///< fatal errors may come
  bool waits;     ///< for each call before the next one
  std::vector<std::unique_ptr<Tensor>> tensors;
  /// Thresholds that are reused, by everything that the ranks agree on.
  std::map<std::tuple<int, size_t, size_t, int, int>, std::any> replays;

  bool reuses() const { return config.selection == sparsecollSelectReuse; }
  bool over_bf16() const { return config.wire == sparsecollWireBf16; }
  /// But for what is reused, which replay_of() knows.
  test::Mode mode(test::Verb verb) const {
    test::Mode mode{verb == test::Verb::kGtopk ? "gtopkAllreduce" : "sparseAllreduce", verb,
                    config.algorithm, config.residualRule};
    mode.wire = config.wire;
    return mode;
  }
};

/// What is wrong with a rank's arguments.
enum class Flaw { kNone, kEnumerator, kStream, kNull };

class RandomCall {
 public:
  virtual ~RandomCall() = default;

  virtual std::string describe() const = 0;
  /// Makes one rank's call, or queues it.
  virtual sparsecollResult_t make(int rank, sparsecollComm_t comm, Flaw flaw) = 0;
  /// Whether a call that is done says sparsecollTruncated on this rank.
  virtual bool truncates(int rank) const = 0;
  /// Of a call that is done: how its output differs from the oracle's. `fetches`: nothing was
  /// called in between, so that what was too long can be fetched.
  virtual std::string check_output(int rank, sparsecollComm_t comm, bool fetches) = 0;
  /// Of a call that was refused: "" or which output was written.
  virtual std::string check_untouched(int rank) const = 0;
  /// What only all ranks together show, when all of them are at their end.
  virtual std::string check_together() const { return ""; }
  /// How many collective calls there have been once the output is checked.
  virtual uint64_t collectives() const { return 1; }
  /// Whether it makes communicators, in which a rank may wait for one that failed in the old one
  /// and does not know them.
  virtual bool makes_parts() const { return false; }
};

/// Which call to plan.
struct Plan {
  Dice& dice;
  World& world;
  Tensor& tensor;
  bool refused;       ///< it will not be done, and changes nothing
  bool may_truncate;  ///< and do whatever else takes longer
};

/// Any verb that travels in groups.
std::unique_ptr<RandomCall> plan_verb(const Plan& plan);
/// Any collective call whatever: a verb, a group, a split, steps of push-sum.
std::unique_ptr<RandomCall> plan_call(const Plan& plan);

// One for each verb; null where the configuration has no such verb or not for this tensor.
std::unique_ptr<RandomCall> plan_dense(const Plan& plan);
std::unique_ptr<RandomCall> plan_coordinates(const Plan& plan);
std::unique_ptr<RandomCall> plan_integers(const Plan& plan);
std::unique_ptr<RandomCall> plan_reduce_scatter(const Plan& plan);
std::unique_ptr<RandomCall> plan_alltoall(const Plan& plan);
std::unique_ptr<RandomCall> plan_group(const Plan& plan);
std::unique_ptr<RandomCall> plan_split(const Plan& plan);
std::unique_ptr<RandomCall> plan_gossip(const Plan& plan);

/// A tensor of a random type and length, appended to the world's.
void add_tensor(Dice& dice, World& world);

/// Calls body(TypedTensor<T>&) with the type of the tensor.
template <class Body>
auto with_type_of(Tensor& tensor, const Body& body) {
  if (auto* half = dynamic_cast<TypedTensor<oracle::Float16>*>(&tensor)) return body(*half);
  if (auto* brain = dynamic_cast<TypedTensor<oracle::Bfloat16>*>(&tensor)) return body(*brain);
  if (auto* wide = dynamic_cast<TypedTensor<double>*>(&tensor)) return body(*wide);
  return body(dynamic_cast<TypedTensor<float>&>(tensor));
}

/// How many entries to keep of n.
size_t random_k(Dice& dice, size_t n, bool reuses);

/// Thresholds of the calls of one shape, as the schedule has them so far. `form`: the index type,
/// or kDenseForm.
inline constexpr int kDenseForm = -1;
template <class T>
oracle::ReuseReplay<T>& replay_of(World& world, int form, size_t n, size_t k, oracle::Op op) {
  std::any& kept = world.replays[{form, n, k, test::kDatatype<T>, static_cast<int>(op)}];
  if (!kept.has_value())
    kept = oracle::ReuseReplay<T>(static_cast<size_t>(world.P), k,
                                  static_cast<uint64_t>(world.config.thresholdInterval),
                                  world.over_bf16());
  return *std::any_cast<oracle::ReuseReplay<T>>(&kept);
}

}  // namespace sparsecoll::fault
