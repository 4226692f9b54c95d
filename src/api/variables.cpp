// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// The table of environment variables.
#include "api/variables.hpp"

#include <signal.h>

#include <algorithm>
#include <array>
#include <climits>
#include <iterator>

#include "calls/algorithm_info.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "kernels/host/filter.hpp"

namespace sparsecoll {

namespace {

constexpr auto kAlgorithmWords = [] {
  std::array<Word, std::size(kAlgorithms)> words{};
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = {kAlgorithms[i].name, static_cast<int>(kAlgorithms[i].id)};
  return words;
}();
constexpr Word kSelections[] = {{"exact", sparsecollSelectExact}, {"reuse", sparsecollSelectReuse}};
constexpr Word kWires[] = {
    {"native", sparsecollWireNative}, {"bf16", sparsecollWireBf16}, {"int8", sparsecollWireInt8}};
constexpr Word kNonFinites[] = {{"keep", sparsecollNonFiniteKeep},
                                {"skip", sparsecollNonFiniteSkip}};
constexpr Word kOffOn[] = {{"0", 0}, {"1", 1}};
constexpr Word kAutoOffOn[] = {{"auto", kAutoWord}, {"0", 0}, {"1", 1}};
constexpr Word kSimdLevels[] = {{"auto", kAutoWord},
                                {"avx512", static_cast<int>(host::Simd::avx512)},
                                {"avx2", static_cast<int>(host::Simd::avx2)},
                                {"portable", static_cast<int>(host::Simd::portable)}};
constexpr Word kLogLevels[] = {{"WARN", static_cast<int>(LogLevel::warn)},
                               {"INFO", static_cast<int>(LogLevel::info)},
                               {"TRACE", static_cast<int>(LogLevel::trace)}};
constexpr Word kSignals[] = {
    {"SIGUSR1", SIGUSR1}, {"SIGUSR2", SIGUSR2}, {"SIGHUP", SIGHUP}, {"SIGQUIT", SIGQUIT}};

constexpr Variable kVariables[] = {
    {.name = "SPARSECOLL_ALGO",
     .meaning = "the algorithm of sparseAllreduce",
     .words = kAlgorithmWords,
     .otherwise = "auto",
     .overrides = "config.algorithm",
     .agreed = true},
    {.name = "SPARSECOLL_SELECT",
     .meaning = "whether thresholds are exact or estimated from earlier calls",
     .words = kSelections,
     .otherwise = "exact",
     .overrides = "config.selection",
     .agreed = true},
    {.name = "SPARSECOLL_WIRE",
     .meaning = "the type in which values are sent",
     .words = kWires,
     .otherwise = "native",
     .overrides = "config.wire",
     .agreed = true},
    {.name = "SPARSECOLL_ALLOW_SHARDED",
     .meaning = "whether auto may take the algorithm sharded",
     .words = kOffOn,
     .otherwise = "0",
     .overrides = "config.allowSharded",
     .agreed = true},
    {.name = "SPARSECOLL_DENSE_BELOW",
     .meaning = "tensors of fewer values are sent whole",
     .range = {"values", 0, SIZE_MAX},
     .otherwise = "0",
     .overrides = "config.denseBelow",
     .agreed = true},
    {.name = "SPARSECOLL_NON_FINITE",
     .meaning = "what a call does with values that are not finite",
     .words = kNonFinites,
     .otherwise = "keep",
     .overrides = "config.nonFinite",
     .agreed = true},
    {.name = "SPARSECOLL_EXPECTED_RANKS",
     .meaning = "the number of ranks without which an init fails",
     .range = {"ranks", 0, INT_MAX},
     .text = "0 = any number",
     .otherwise = "0",
     .overrides = "config.expectedRanks",
     .agreed = true},
    {.name = "SPARSECOLL_TIMEOUT_MS",
     .meaning = "the deadline of a call",
     .range = {"milliseconds", 0, INT_MAX},
     .text = "0 = no deadline",
     .otherwise = "600000",
     .overrides = "config.timeoutMs",
     .agreed = true},
    {.name = "SPARSECOLL_CHECK",
     .meaning = "whether messages have checksums; over NCCL: whether calls compare their arguments",
     .words = kOffOn,
     .otherwise = "1; over NCCL 0",
     .agreed = true},
    {.name = "SPARSECOLL_RANKS_PER_NODE",
     .meaning = "how many ranks, one after another, share a node",
     .range = {"ranks", 1, INT_MAX},
     .otherwise = "ranks of one machine and network share a node",
     .agreed = true},
    {.name = "SPARSECOLL_TOPOLOGY",
     .meaning = "which nodes share a rack or a site, and the rates between these",
     .text = "a file of levels",
     .otherwise = "Slurm's, or nodes alone",
     .agreed = true},
    {.name = "SPARSECOLL_SIMD",
     .meaning = "the highest level of vector instructions",
     .words = kSimdLevels,
     .otherwise = "auto"},
    {.name = "SPARSECOLL_THREADS",
     .meaning = "the threads of a rank for loops over long vectors",
     .range = {"threads", 1, kMostThreads},
     .otherwise = "this rank's share of the CPUs"},
    {.name = "SPARSECOLL_BIND",
     .meaning = "whether the library binds its threads to CPUs",
     .words = kOffOn,
     .otherwise = "1"},
    {.name = "SPARSECOLL_CUDA_AWARE",
     .meaning = "whether MPI gets device memory",
     .words = kAutoOffOn,
     .otherwise = "auto"},
    {.name = "SPARSECOLL_MPI_PIECES",
     .meaning = "whether MPI gets messages in chunks of 60 KiB",
     .words = kAutoOffOn,
     .otherwise = "auto"},
    {.name = "SPARSECOLL_SPIN_US",
     .meaning = "how long a waiting rank polls before it sleeps, over MPI or UCX",
     .range = {"microseconds", 0, INT_MAX},
     .otherwise = "depends on the transport"},
    {.name = "SPARSECOLL_SOCKET_IFNAME",
     .meaning = "the network interface at which ranks with an id meet",
     .text = "names of interfaces",
     .otherwise = "the first that is up"},
    {.name = "SPARSECOLL_DEBUG",
     .meaning = "which lines the library writes",
     .words = kLogLevels,
     .otherwise = "silent"},
    {.name = "SPARSECOLL_DEBUG_FILE",
     .meaning = "where it writes them",
     .text = "a file or terminal that can be opened for appending",
     .otherwise = "standard error"},
    {.name = "SPARSECOLL_TIMELINE",
     .meaning = "where a communicator writes what its calls do",
     .text = "a file's name",
     .otherwise = "none"},
    {.name = "SPARSECOLL_FLIGHT_RECORDER",
     .meaning = "where a poisoned communicator writes its last calls",
     .text = "the beginning of a file's name",
     .otherwise = "none"},
    {.name = "SPARSECOLL_FLIGHT_SIGNAL",
     .meaning = "the signal that makes all communicators write them",
     .words = kSignals,
     .otherwise = "none"},
};

}  // namespace

std::span<const Variable> variables() { return kVariables; }

const Variable& variable(std::string_view name) {
  const auto found = std::find_if(std::begin(kVariables), std::end(kVariables),
                                  [&](const Variable& each) { return each.name == name; });
  if (found == std::end(kVariables))
    fail(sparsecollInternalError, name, " is not in the table of variables");
  return *found;
}

std::string values_of(const Variable& variable) {
  std::string values;
  for (const Word& word : variable.words)
    values += (values.empty() ? "" : ", ") + std::string(word.name);
  if (!variable.is_number()) return variable.words.empty() ? variable.text : values;
  const NumberRange<uint64_t>& range = variable.range;
  values = range.most == SIZE_MAX ? text(range.least, " or more ", range.unit)
                                  : text(range.least, " to ", range.most);
  return *variable.text ? text(values, "; ", variable.text) : values;
}

int chosen_word(const char* name, int otherwise) {
  return choose(name, variable(name).words, otherwise);
}

std::optional<bool> chosen_switch(const char* name) {
  const int chosen = chosen_word(name, kAutoWord);
  return chosen == kAutoWord ? std::nullopt : std::optional(chosen == 1);
}

}  // namespace sparsecoll
