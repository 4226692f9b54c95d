// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sparsecoll/sparsecoll.h>

#include <cstdint>
#include <string>
#include <vector>

#include "calls/algorithm_info.hpp"
#include "oracle/oracle.hpp"

namespace sparsecoll::test {

enum class Verb { kSparse, kGtopk };

/// A verb with the part of the configuration that changes its result or its messages.
struct Mode {
  const char* name;
  Verb verb;
  int algorithm;
  int residual_rule;
  int selection = sparsecollSelectExact;
  int wire = sparsecollWireNative;          ///< others: every call computes new regions
  const std::vector<int>* nodes = nullptr;  ///< see nodes_of()
  const oracle::Levels* groups = nullptr;   ///< the groups above the nodes; null: none
  int non_finite = sparsecollNonFiniteKeep;
};

/// Returns the table's row of the algorithm of a mode.
constexpr const AlgorithmInfo& info_of(const Mode& mode) { return *algorithm_info(mode.algorithm); }

inline constexpr Mode kAuto{"sparseAllreduce/auto", Verb::kSparse, sparsecollAlgoAuto,
                            sparsecollResidualConserving};
inline constexpr Mode kAllgather{"sparseAllreduce/allgather", Verb::kSparse,
                                 sparsecollAlgoAllgather, sparsecollResidualConserving};
inline constexpr Mode kOktopk{"sparseAllreduce/oktopk", Verb::kSparse, sparsecollAlgoOktopk,
                              sparsecollResidualConserving};
inline constexpr Mode kDense{"sparseAllreduce/dense", Verb::kSparse, sparsecollAlgoDense,
                             sparsecollResidualConserving};
inline constexpr Mode kTopkA2A{"sparseAllreduce/topka2a", Verb::kSparse, sparsecollAlgoTopkA2A,
                               sparsecollResidualConserving};
inline constexpr Mode kHierarchical{"sparseAllreduce/hierarchical", Verb::kSparse,
                                    sparsecollAlgoHierarchical, sparsecollResidualConserving};
inline constexpr Mode kSharded{"sparseAllreduce/sharded", Verb::kSparse, sparsecollAlgoSharded,
                               sparsecollResidualConserving};
inline constexpr Mode kReuse{"sparseAllreduce/oktopk, reusing", Verb::kSparse, sparsecollAlgoOktopk,
                             sparsecollResidualConserving, sparsecollSelectReuse};
inline constexpr Mode kGtopk{"gtopkAllreduce/conserving", Verb::kGtopk, sparsecollAlgoAuto,
                             sparsecollResidualConserving};
inline constexpr Mode kGtopkPaper{"gtopkAllreduce/paper", Verb::kGtopk, sparsecollAlgoAuto,
                                  sparsecollResidualPaper};

/// Returns the mode over another wire.
constexpr Mode over_wire(int wire, Mode mode, const char* name) {
  mode.name = name;
  mode.wire = wire;
  return mode;
}
constexpr Mode over_bf16(Mode mode, const char* name) {
  return over_wire(sparsecollWireBf16, mode, name);
}
constexpr Mode over_int8(Mode mode, const char* name) {
  return over_wire(sparsecollWireInt8, mode, name);
}
/// The wires that round values.
inline constexpr int kRoundingWires[] = {sparsecollWireBf16, sparsecollWireInt8};

/// Returns the mode with sparsecollNonFiniteSkip.
constexpr Mode skipping(Mode mode) {
  mode.non_finite = sparsecollNonFiniteSkip;
  return mode;
}

// Lists of modes, from the table of algorithms (calls/algorithm_info.hpp).

/// sparseAllreduce by every algorithm, Auto first.
extern const std::vector<Mode> kSparseModes;
/// The verbs and algorithms that have a coordinate form.
extern const std::vector<Mode> kTopkModes;
/// The verbs and algorithms with conserving residuals.
extern const std::vector<Mode> kConservingModes;
/// Modes over a bfloat16 wire. Auto is left out, because it chooses among different results then,
/// and so are sums by node, for which the oracle has no rounding.
extern const std::vector<Mode> kBf16Modes;
/// Modes over an int8 wire: those of kBf16Modes.
extern const std::vector<Mode> kInt8Modes;
/// The modes of both lists.
extern const std::vector<Mode> kRoundingModes;

/// Returns whether the verb has a form for sparse vectors under this configuration.
constexpr bool has_coordinate_form(const Mode& mode) {
  return mode.verb == Verb::kGtopk || info_of(mode).coordinate_form;
}

/// Returns the defaults with a deadline below that of the hang guard, so that the library reports
/// an error first.
sparsecollConfig_t default_config();
sparsecollConfig_t config_of(const Mode& mode);

/// Returns whether this program takes smaller n and fewer cases: if SPARSECOLL_TEST_SMALL asks for
/// it, for builds with sanitizers, or if SPARSECOLL_TEST_FULL_PART is i/N and the program is not in
/// the i-th of N parts of all programs.
bool small_run();

/// Returns whether SPARSECOLL_TEST_BLOCKING=0 asks that all communicators queue their calls. Tests
/// then wait for every call.
bool queued_run();

/// Returns SPARSECOLL_TEST_SEED, or 1 if it is not set.
std::uint64_t base_seed();

/// Returns SPARSECOLL_RANKS_PER_NODE, or 0 if it is not set: then ranks that are threads are all on
/// one node.
int ranks_per_node();

/// Returns the number of each rank's node, for modes that sum gradients or selections by node, else
/// nothing. The numbers are mode.nodes, or come from ranks_per_node(), or all ranks are on one
/// node.
std::vector<int> nodes_of(const Mode& mode, std::size_t ranks);
/// Returns these nodes and mode.groups as levels; no levels if the mode does not sum by node.
oracle::Levels levels_of(const Mode& mode, std::size_t ranks);

/// Returns the seconds that an operation without waits may take on a busy machine.
double patience();

/// Returns the numbers of ranks of most tests: 1 to 9 and 16.
std::vector<int> rank_counts();

sparsecollRedOp_t op_of(oracle::Op op);
oracle::Rule rule_of(const Mode& mode);
const char* name_of(oracle::Op op);

/// Returns the result's name and the communicator's last error, "sparsecollTimeout: deadline ...".
/// comm may be NULL.
std::string explain(sparsecollResult_t result, sparsecollComm_t comm);

/// Returns "" for the expected result, and otherwise a line with the result.
std::string expect(const std::string& call, sparsecollResult_t got, sparsecollResult_t want,
                   sparsecollComm_t comm);

}  // namespace sparsecoll::test
