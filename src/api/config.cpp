// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/config.hpp"

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstring>

#include "calls/algorithm_info.hpp"
#include "core/environment.hpp"
#include "core/error.hpp"
#include "kernels/device.hpp"

namespace sparsecoll {

namespace {

constexpr sparsecollConfig_t kDefaults = SPARSECOLL_CONFIG_INITIALIZER;
constexpr int kMostThreads = 1024;

struct Word {
  const char* name;
  int value;
};

[[noreturn]] void unknown_value(const char* variable, const std::string& got,
                                const std::vector<Word>& words) {
  std::string valid;
  for (const Word& word : words) valid += (valid.empty() ? "" : ", ") + std::string(word.name);
  fail(sparsecollInvalidArgument, variable, ": expected one of ", valid, "; got '", got, "'");
}

/// Returns the value of the word that the variable is set to; `otherwise` if it is not set.
int choose(const char* variable, const std::vector<Word>& words, int otherwise) {
  const auto got = environment(variable);
  if (!got) return otherwise;
  for (const Word& word : words)
    if (*got == word.name) return word.value;
  unknown_value(variable, *got, words);
}

/// The valid range of a variable's number.
struct Numbers {
  const char* unit;
  int least;
  int most;
};

/// Returns the variable's number; none if it is not set.
std::optional<int> number(const char* variable, const Numbers& numbers) {
  const auto got = environment(variable);
  if (!got) return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(got->data(), got->data() + got->size(), value);
  if (error != std::errc() || end != got->data() + got->size() || value < numbers.least ||
      value > numbers.most)
    fail(sparsecollInvalidArgument, variable, ": expected ", numbers.unit, ", ", numbers.least,
         " to ", numbers.most, "; got '", *got, "'");
  return value;
}

std::optional<host::Simd> simd_level() {
  constexpr const char* kVariable = "SPARSECOLL_SIMD";
  constexpr int kAuto = -1;
  const auto number_of = [](host::Simd simd) { return static_cast<int>(simd); };
  const std::vector<Word> words{{"auto", kAuto},
                                {"avx512", number_of(host::Simd::avx512)},
                                {"avx2", number_of(host::Simd::avx2)},
                                {"portable", number_of(host::Simd::portable)}};
  const int chosen = choose(kVariable, words, kAuto);
  if (chosen == kAuto) return std::nullopt;
  const auto simd = static_cast<host::Simd>(chosen);
  if (!host::find_filters(simd))
    fail(sparsecollInvalidArgument, kVariable, ": expected a level that this CPU has, got '",
         *environment(kVariable), "'");
  return simd;
}

/// Returns whether the variable is "0" or "1"; none for "auto" and if it is not set.
std::optional<bool> optional_switch(const char* variable) {
  constexpr int kAuto = -1;
  const int chosen = choose(variable, {{"auto", kAuto}, {"0", 0}, {"1", 1}}, kAuto);
  return chosen == kAuto ? std::nullopt : std::optional(chosen == 1);
}

/// Returns "0 (auto), 1 (allgather) or 2 (oktopk)" for all algorithms.
std::string algorithm_numbers() {
  std::string numbers;
  const int last = static_cast<int>(std::size(kAlgorithms)) - 1;
  for (int i = 0; i <= last; ++i)
    numbers += text(i == 0      ? ""
                    : i == last ? " or "
                                : ", ",
                    static_cast<int>(kAlgorithms[i].id), " (", kAlgorithms[i].name, ")");
  return numbers;
}

std::vector<Word> algorithm_words() {
  std::vector<Word> words;
  for (const AlgorithmInfo& each : kAlgorithms)
    words.push_back({each.name, static_cast<int>(each.id)});
  return words;
}

void check_field(const char* field, bool good, const std::string& expected, int got) {
  if (!good)
    fail(sparsecollInvalidArgument, "config.", field, ": expected ", expected, ", got ", got);
}

}  // namespace

void check_device(const std::string& name, int device) {
  if (device == INT_MIN || device == SPARSECOLL_DEVICE_HOST) return;
  const int devices = device < 0 ? 0 : count_devices();
  if (device < 0 || device >= devices)
    fail(sparsecollInvalidArgument, name, ": expected SPARSECOLL_DEVICE_HOST (-1), ",
         "INT_MIN (the current device), or the number of one of the ", count_devices(),
         " CUDA devices here, got ", device);
}

namespace {

void check_values(const sparsecollConfig_t& c) {
  check_field("blocking", c.blocking == 0 || c.blocking == 1, "0 or 1", c.blocking);
  check_device("config.device", c.device);
  check_field("timeoutMs", c.timeoutMs >= 0, "0 or more", c.timeoutMs);
  check_field("algorithm", algorithm_info(c.algorithm) != nullptr,
              text("a sparsecollAlgo_t: ", algorithm_numbers()), c.algorithm);
  check_field("selection",
              c.selection == sparsecollSelectExact || c.selection == sparsecollSelectReuse,
              "0 (exact) or 1 (reuse)", c.selection);
  check_field(
      "residualRule",
      c.residualRule == sparsecollResidualConserving || c.residualRule == sparsecollResidualPaper,
      "0 (conserving) or 1 (paper)", c.residualRule);
  check_field("wire", c.wire == sparsecollWireNative || c.wire == sparsecollWireBf16,
              "0 (native) or 1 (bf16)", c.wire);
  check_field("repartitionInterval", c.repartitionInterval >= 1, "1 or more",
              c.repartitionInterval);
  check_field("thresholdInterval", c.thresholdInterval >= 1, "1 or more", c.thresholdInterval);
  check_field("allowReordered", c.allowReordered == 0 || c.allowReordered == 1, "0 or 1",
              c.allowReordered);
}

}  // namespace

Config make_config(const sparsecollConfig_t* config, bool check) {
  Config result;
  sparsecollConfig_t& c = result.values;
  if (config) {
    if (config->size < offsetof(sparsecollConfig_t, blocking) || config->magic != kDefaults.magic ||
        config->version == 0)
      fail(sparsecollInvalidArgument,
           "config: expected a struct that starts from SPARSECOLL_CONFIG_INITIALIZER, got size ",
           config->size, ", magic ", config->magic, ", version ", config->version);
    std::memcpy(&c, config, std::min(config->size, sizeof c));
    c.size = sizeof c;
    c.version = kDefaults.version;
  }
  check_values(c);
  c.algorithm = choose("SPARSECOLL_ALGO", algorithm_words(), c.algorithm);
  c.selection =
      choose("SPARSECOLL_SELECT",
             {{"exact", sparsecollSelectExact}, {"reuse", sparsecollSelectReuse}}, c.selection);
  if (c.selection == sparsecollSelectReuse && c.algorithm != sparsecollAlgoAuto &&
      c.algorithm != sparsecollAlgoOktopk)
    fail(sparsecollInvalidArgument,
         "config.selection (SPARSECOLL_SELECT): reuse expects config.algorithm (SPARSECOLL_ALGO) "
         "auto or oktopk, got ",
         algorithm_info(c.algorithm)->name);
  c.wire = choose("SPARSECOLL_WIRE",
                  {{"native", sparsecollWireNative}, {"bf16", sparsecollWireBf16}}, c.wire);
  c.timeoutMs = number("SPARSECOLL_TIMEOUT_MS", {"milliseconds", 0, INT_MAX}).value_or(c.timeoutMs);
  result.check = choose("SPARSECOLL_CHECK", {{"0", 0}, {"1", 1}}, check) != 0;
  result.log_level = static_cast<LogLevel>(
      choose("SPARSECOLL_DEBUG", {{"WARN", 1}, {"INFO", 2}, {"TRACE", 3}}, 0));
  result.log_file = environment("SPARSECOLL_DEBUG_FILE").value_or("");
  result.timeline = environment("SPARSECOLL_TIMELINE").value_or("");
  result.ranks_per_node = number("SPARSECOLL_RANKS_PER_NODE", {"ranks", 1, INT_MAX}).value_or(0);
  result.simd = simd_level();
  result.binds = choose("SPARSECOLL_BIND", {{"0", 0}, {"1", 1}}, 1) != 0;
  result.threads = number("SPARSECOLL_THREADS", {"threads", 1, kMostThreads});
  result.cuda_aware = optional_switch("SPARSECOLL_CUDA_AWARE");
  result.mpi_eager = optional_switch("SPARSECOLL_MPI_PIECES");
  Log(result.log_level, result.log_file, "");  // throws if the file cannot be opened
  return result;
}

void check_nccl_device(const Config& config, int device) {
  const int wanted = config.values.device;
  if (wanted != INT_MIN && wanted != device)
    fail(sparsecollInvalidArgument, "config.device: expected that of the NCCL communicator, ",
         device, ", or INT_MIN, got ", wanted);
}

Descriptor describe(const Config& config) {
  const sparsecollConfig_t& c = config.values;
  Descriptor descriptor;
  descriptor.verb = static_cast<uint64_t>(Verb::init);
  const auto set = [&](InitArgument argument, int value) {
    descriptor.argument[argument] = word_of(value);
  };
  set(kVersion, SPARSECOLL_VERSION);
  set(kBlocking, c.blocking);
  set(kTimeoutMs, c.timeoutMs);
  set(kAlgorithm, c.algorithm);
  set(kSelection, c.selection);
  set(kResidualRule, c.residualRule);
  set(kWire, c.wire);
  set(kRepartitionInterval, c.repartitionInterval);
  set(kThresholdInterval, c.thresholdInterval);
  set(kAllowReordered, c.allowReordered);
  set(kRanksPerNode, config.ranks_per_node);
  set(kCheck, config.check);
  return descriptor;
}

}  // namespace sparsecoll
