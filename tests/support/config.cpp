// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "support/config.hpp"

#include <errno.h>

#include <cstdio>
#include <cstdlib>
#include <deque>

namespace sparsecoll::test {

namespace {

/// Keeps a name as long as the program runs, for Mode::name.
const char* keep(std::string name) {
  static std::deque<std::string> names;
  return names.emplace_back(std::move(name)).c_str();
}

template <class Condition>
std::vector<Mode> sparse_modes(Condition condition) {
  std::vector<Mode> modes;
  for (const AlgorithmInfo& each : kAlgorithms)
    if (condition(each))
      modes.push_back({keep(std::string("sparseAllreduce/") + each.name), Verb::kSparse,
                       static_cast<int>(each.id), sparsecollResidualConserving});
  return modes;
}

std::vector<Mode> with(std::vector<Mode> modes, const std::vector<Mode>& more) {
  modes.insert(modes.end(), more.begin(), more.end());
  return modes;
}

std::vector<Mode> rounding_modes(int wire, const char* name) {
  const auto has_oracle = [](const AlgorithmInfo& each) {
    return each.id != AlgorithmId::automatic && each.result != ResultKind::sums_by_node;
  };
  std::vector<Mode> modes;
  for (const Mode& mode : with(sparse_modes(has_oracle), {kGtopk, kGtopkPaper}))
    modes.push_back(over_wire(wire, mode, keep(std::string(mode.name) + ", " + name)));
  return modes;
}

}  // namespace

const std::vector<Mode> kSparseModes = sparse_modes([](const AlgorithmInfo&) { return true; });
const std::vector<Mode> kTopkModes =
    with(sparse_modes([](const AlgorithmInfo& each) { return each.coordinate_form; }),
         {kGtopk, kGtopkPaper});
const std::vector<Mode> kConservingModes = with(kSparseModes, {kGtopk});
const std::vector<Mode> kBf16Modes = rounding_modes(sparsecollWireBf16, "bf16");
const std::vector<Mode> kInt8Modes = rounding_modes(sparsecollWireInt8, "int8");
const std::vector<Mode> kRoundingModes = with(kBf16Modes, kInt8Modes);

sparsecollConfig_t default_config() {
  sparsecollConfig_t config = SPARSECOLL_CONFIG_INITIALIZER;
  config.timeoutMs = 60000;
  config.blocking = queued_run() ? 0 : 1;
  return config;
}

sparsecollConfig_t config_of(const Mode& mode) {
  sparsecollConfig_t config = default_config();
  config.algorithm = mode.algorithm;
  config.residualRule = mode.residual_rule;
  config.selection = mode.selection;
  config.wire = mode.wire;
  config.nonFinite = mode.non_finite;
  if (mode.wire != sparsecollWireNative) config.repartitionInterval = 1;
  return config;
}

bool small_run() {
  const char* value = std::getenv("SPARSECOLL_TEST_SMALL");
  if (value != nullptr && std::string(value) != "0") return true;
  const char* const full = std::getenv("SPARSECOLL_TEST_FULL_PART");
  unsigned part = 0, parts = 0;
  if (full == nullptr || std::sscanf(full, "%u/%u", &part, &parts) != 2 || parts == 0) return false;
  unsigned mixed = 0;
  for (const char letter : std::string(program_invocation_short_name))
    mixed = mixed * 31 + static_cast<unsigned char>(letter);
  return mixed % parts != part;
}

bool queued_run() {
  const char* value = std::getenv("SPARSECOLL_TEST_BLOCKING");
  return value != nullptr && std::string(value) == "0";
}

int ranks_per_node() {
  const char* value = std::getenv("SPARSECOLL_RANKS_PER_NODE");
  return value != nullptr ? std::atoi(value) : 0;
}

std::vector<int> nodes_of(const Mode& mode, std::size_t ranks) {
  const ResultKind kind = info_of(mode).result;
  const bool by_node = kind == ResultKind::sums_by_node || kind == ResultKind::sharded;
  if (mode.verb != Verb::kSparse || !by_node) return {};
  if (mode.nodes != nullptr) return *mode.nodes;
  std::vector<int> nodes(ranks, 0);
  const int size = ranks_per_node();
  for (std::size_t r = 0; size > 0 && r < ranks; ++r) nodes[r] = static_cast<int>(r) / size;
  return nodes;
}

oracle::Levels levels_of(const Mode& mode, std::size_t ranks) {
  const std::vector<int> nodes = nodes_of(mode, ranks);
  if (nodes.empty()) return {};
  oracle::Levels levels{nodes};
  if (mode.groups != nullptr) levels.insert(levels.end(), mode.groups->begin(), mode.groups->end());
  return levels;
}

std::uint64_t base_seed() {
  const char* value = std::getenv("SPARSECOLL_TEST_SEED");
  return value != nullptr ? std::strtoull(value, nullptr, 10) : 1;
}

double patience() { return small_run() ? 10.0 : 1.0; }

std::vector<int> rank_counts() {
  return small_run() ? std::vector<int>{1, 2, 3, 5, 8}
                     : std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 16};
}

sparsecollRedOp_t op_of(oracle::Op op) {
  return op == oracle::Op::kAvg ? sparsecollAvg : sparsecollSum;
}

oracle::Rule rule_of(const Mode& mode) {
  return mode.residual_rule == sparsecollResidualPaper ? oracle::Rule::kPaper
                                                       : oracle::Rule::kConserving;
}

const char* name_of(oracle::Op op) { return op == oracle::Op::kAvg ? "avg" : "sum"; }

std::string explain(sparsecollResult_t result, sparsecollComm_t comm) {
  std::string text = sparsecollGetErrorString(result);
  if (result != sparsecollSuccess && comm != nullptr) {
    text += std::string(" [") + sparsecollGetLastError(comm) + "]";
  }
  return text;
}

std::string expect(const std::string& call, sparsecollResult_t got, sparsecollResult_t want,
                   sparsecollComm_t comm) {
  if (got == want) return "";
  return call + " returned " + explain(got, comm) + " instead of " + sparsecollGetErrorString(want);
}

}  // namespace sparsecoll::test
