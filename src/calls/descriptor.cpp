// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/descriptor.hpp"

#include <bit>
#include <span>

#include "calls/algorithm_info.hpp"
#include "core/checksum.hpp"
#include "core/error.hpp"
#include "core/types.hpp"

namespace sparsecoll {

namespace {

constexpr const char* kVerbArguments[] = {
    "count",
    "k",
    "datatype",
    "op",
    "indexType",
    "blockSize",
    "bounds[1]",
    "bounds[2]",
    "bounds[3]",
    "bounds[4]",
    "bounds[5]",
    "bounds[6]",
    "bounds (hash)",
    "state left by earlier calls (hash; sparsecollResidualLoad must be called on all ranks)"};
constexpr const char* kGroupArguments[] = {"number of calls in the group",
                                           "calls in the group (hash)"};
constexpr const char* kPushSumArguments[] = {
    "count",           "config.k",      "datatype", "config.graph",       "config.peers",
    "config.maxDelay", "config.mixing", "state",    "the number of steps"};
constexpr const char* kInitArguments[] = {
    "version",
    "blocking",
    "timeoutMs (SPARSECOLL_TIMEOUT_MS)",
    "algorithm (SPARSECOLL_ALGO)",
    "selection (SPARSECOLL_SELECT)",
    "residualRule",
    "wire (SPARSECOLL_WIRE)",
    "repartitionInterval",
    "thresholdInterval",
    "allowReordered",
    "SPARSECOLL_RANKS_PER_NODE",
    "SPARSECOLL_CHECK",
    "allowSharded (SPARSECOLL_ALLOW_SHARDED)",
    "topology (SPARSECOLL_TOPOLOGY)",
    "denseBelow (SPARSECOLL_DENSE_BELOW)",
    "expectedRanks (SPARSECOLL_EXPECTED_RANKS)",
    "nonFinite (SPARSECOLL_NON_FINITE)",
};

std::span<const char* const> argument_names(uint64_t verb) {
  switch (static_cast<Verb>(verb)) {
    case Verb::init:
      return kInitArguments;
    case Verb::destroy:
    case Verb::comm_split:
    case Verb::comm_measure:
      return {};
    case Verb::group:
      return kGroupArguments;
    case Verb::sparse_allreduce:
    case Verb::gtopk_allreduce:
    case Verb::sparse_allreducev:
    case Verb::gtopk_allreducev:
    case Verb::sparse_alltoall:
    case Verb::sparse_reduce_scatter:
    case Verb::residual_move:
      return kVerbArguments;
    case Verb::push_sum_create:
    case Verb::push_sum_step:
    case Verb::push_sum_drain:
    case Verb::push_sum_move:
      return kPushSumArguments;
  }
  return {};
}

std::string push_sum_value(size_t argument, uint64_t bits) {
  if (argument == kMixing) return text(std::bit_cast<double>(bits));
  return std::to_string(static_cast<int64_t>(bits));
}

std::string init_value(size_t argument, uint64_t bits) {
  if (argument == kTopology) return bits == 0 ? "no file" : text("a file with the checksum ", bits);
  if (argument == kDenseBelow) return std::to_string(bits);
  const std::string number = std::to_string(static_cast<int64_t>(bits));
  const AlgorithmInfo* const algorithm =
      argument == kAlgorithm ? algorithm_info(static_cast<int>(bits)) : nullptr;
  return algorithm ? text(number, " (", algorithm->name, ")") : number;
}

std::string value(uint64_t verb, size_t argument, uint64_t bits) {
  if (argument_names(verb).data() == kPushSumArguments && argument != kDataType)
    return push_sum_value(argument, bits);
  if (static_cast<Verb>(verb) == Verb::init) return init_value(argument, bits);
  if (argument == kK && bits == ~uint64_t{0}) return "SPARSECOLL_ALL";
  if (argument == kDataType && bits < 256)
    if (const char* name = name_of(static_cast<DataType>(bits))) return name;
  if (argument == kOp && bits == 0) return "sparsecollSum";
  if (argument == kOp && bits == 4) return "sparsecollAvg";
  if (argument == kIndexType && bits == 0) return "sparsecollIndex32";
  if (argument == kIndexType && bits == 1) return "sparsecollIndex64";
  return std::to_string(bits);
}

}  // namespace

uint64_t Descriptor::hash() const { return checksum(std::as_bytes(std::span(this, 1))); }

const char* verb_name(uint64_t verb) {
  switch (static_cast<Verb>(verb)) {
    case Verb::init:
      return "sparsecollCommInit";
    case Verb::destroy:
      return "sparsecollCommDestroy";
    case Verb::sparse_allreduce:
      return "sparseAllreduce";
    case Verb::gtopk_allreduce:
      return "gtopkAllreduce";
    case Verb::sparse_allreducev:
      return "sparseAllreducev";
    case Verb::gtopk_allreducev:
      return "gtopkAllreducev";
    case Verb::sparse_alltoall:
      return "sparseAlltoall";
    case Verb::sparse_reduce_scatter:
      return "sparseReduceScatter";
    case Verb::comm_split:
      return "sparsecollCommSplit";
    case Verb::comm_measure:
      return "sparsecollCommMeasure";
    case Verb::group:
      return "sparsecollGroupEnd";
    case Verb::push_sum_create:
      return "sparsecollPushSumCreate";
    case Verb::push_sum_step:
      return "pushSumStep";
    case Verb::push_sum_drain:
      return "sparsecollPushSumDrain";
    case Verb::push_sum_move:
      return "sparsecollPushSumMove";
    case Verb::residual_move:
      return "sparsecollResidualMove";
  }
  return "an unknown function";
}

std::string difference(const Descriptor& mine, const Descriptor& theirs, int their_rank) {
  const auto describe = [&](const char* what, const std::string& own, const std::string& other) {
    return text(what, ": this rank passed ", own, ", rank ", their_rank, " passed ", other);
  };
  if (mine.verb != theirs.verb)
    return text("function: this rank called ", verb_name(mine.verb), ", rank ", their_rank,
                " called ", verb_name(theirs.verb));
  const std::span<const char* const> names = argument_names(mine.verb);
  for (size_t a = 0; a < names.size(); ++a)
    if (mine.argument[a] != theirs.argument[a])
      return describe(names[a], value(mine.verb, a, mine.argument[a]),
                      value(mine.verb, a, theirs.argument[a]));
  return "";
}

std::vector<std::pair<std::string, std::string>> arguments_in_words(const Descriptor& descriptor) {
  std::vector<std::pair<std::string, std::string>> words;
  const std::span<const char* const> names = argument_names(descriptor.verb);
  for (size_t a = 0; a < names.size(); ++a)
    words.emplace_back(names[a], value(descriptor.verb, a, descriptor.argument[a]));
  return words;
}

}  // namespace sparsecoll
