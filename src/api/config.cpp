// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/config.hpp"

#include <algorithm>
#include <climits>
#include <cstring>

#include "api/topology_tree.hpp"
#include "api/variables.hpp"
#include "calls/algorithm_info.hpp"
#include "core/environment.hpp"
#include "core/error.hpp"
#include "kernels/device.hpp"

namespace sparsecoll {

namespace {

constexpr sparsecollConfig_t kDefaults = SPARSECOLL_CONFIG_INITIALIZER;

std::optional<host::Simd> simd_level() {
  constexpr const char* kVariable = "SPARSECOLL_SIMD";
  const int chosen = chosen_word(kVariable, kAutoWord);
  if (chosen == kAutoWord) return std::nullopt;
  const auto simd = static_cast<host::Simd>(chosen);
  if (!host::find_filters(simd))
    fail(sparsecollInvalidArgument, kVariable, ": expected a level that this CPU has, got '",
         *environment(kVariable), "'");
  return simd;
}

/// Returns the signal that writes the flight records; 0 if the variable is not set.
int flight_signal(bool has_files) {
  constexpr const char* kVariable = "SPARSECOLL_FLIGHT_SIGNAL";
  const int chosen = chosen_word(kVariable, 0);
  if (chosen != 0 && !has_files)
    fail(sparsecollInvalidArgument, kVariable,
         ": expected SPARSECOLL_FLIGHT_RECORDER, which names the files, beside it");
  return chosen;
}

/// Returns all algorithms as text: "0 (auto), 1 (allgather) or 2 (oktopk)".
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

/// Runs checks and keeps the first error that one of them throws.
class FirstError {
 public:
  /// Returns the result of `get`, or `otherwise` if `get` throws.
  template <class T, class Get>
  T value(const T& otherwise, Get get) {
    try {
      return get();
    } catch (const Error& error) {
      keep(error);
      return otherwise;
    }
  }
  void keep(const Error& error) {
    if (!error_) error_ = error;
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  std::optional<Error> error_;
};

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

using Field = int sparsecollConfig_t::*;

/// Checks the fields of a struct, and gives bad ones their defaults.
void check_values(sparsecollConfig_t& c, FirstError& first) {
  const auto check = [&](const char* name, Field field, bool good, const std::string& expected) {
    if (good) return;
    first.keep({sparsecollInvalidArgument,
                text("config.", name, ": expected ", expected, ", got ", c.*field)});
    c.*field = kDefaults.*field;
  };
  using C = sparsecollConfig_t;
  check("blocking", &C::blocking, c.blocking == 0 || c.blocking == 1, "0 or 1");
  c.device = first.value(kDefaults.device, [&] {
    check_device("config.device", c.device);
    return c.device;
  });
  check("timeoutMs", &C::timeoutMs, c.timeoutMs >= 0, "0 or more");
  check("algorithm", &C::algorithm, algorithm_info(c.algorithm) != nullptr,
        text("a sparsecollAlgo_t: ", algorithm_numbers()));
  check("selection", &C::selection,
        c.selection == sparsecollSelectExact || c.selection == sparsecollSelectReuse,
        "0 (exact) or 1 (reuse)");
  check("residualRule", &C::residualRule,
        c.residualRule == sparsecollResidualConserving || c.residualRule == sparsecollResidualPaper,
        "0 (conserving) or 1 (paper)");
  check("wire", &C::wire, c.wire >= sparsecollWireNative && c.wire <= sparsecollWireInt8,
        "0 (native), 1 (bf16) or 2 (int8)");
  check("repartitionInterval", &C::repartitionInterval, c.repartitionInterval >= 1, "1 or more");
  check("thresholdInterval", &C::thresholdInterval, c.thresholdInterval >= 1, "1 or more");
  check("allowReordered", &C::allowReordered, c.allowReordered == 0 || c.allowReordered == 1,
        "0 or 1");
  check("allowSharded", &C::allowSharded, c.allowSharded == 0 || c.allowSharded == 1, "0 or 1");
  check("nonFinite", &C::nonFinite,
        c.nonFinite == sparsecollNonFiniteKeep || c.nonFinite == sparsecollNonFiniteSkip,
        "0 (keep) or 1 (skip)");
  check("expectedRanks", &C::expectedRanks, c.expectedRanks >= 0, "0 or more");
}

/// Returns the caller's struct, with defaults for the fields that it is too short for.
sparsecollConfig_t copy_of(const sparsecollConfig_t& config) {
  if (config.size < offsetof(sparsecollConfig_t, blocking) || config.magic != kDefaults.magic ||
      config.version == 0)
    fail(sparsecollInvalidArgument,
         "config: expected a struct that starts from SPARSECOLL_CONFIG_INITIALIZER, got size ",
         config.size, ", magic ", config.magic, ", version ", config.version);
  sparsecollConfig_t c = kDefaults;
  std::memcpy(&c, &config, std::min(config.size, sizeof c));
  c.size = sizeof c;
  c.version = kDefaults.version;
  return c;
}

/// Replaces fields by the values of environment variables.
void override_values(sparsecollConfig_t& c, FirstError& first) {
  const auto replace = [&](Field field, const char* name) {
    c.*field = first.value(c.*field, [&] { return chosen_word(name, c.*field); });
  };
  replace(&sparsecollConfig_t::algorithm, "SPARSECOLL_ALGO");
  replace(&sparsecollConfig_t::selection, "SPARSECOLL_SELECT");
  if (c.selection == sparsecollSelectReuse && c.algorithm != sparsecollAlgoAuto &&
      c.algorithm != sparsecollAlgoOktopk) {
    first.keep({sparsecollInvalidArgument,
                text("config.selection (SPARSECOLL_SELECT): reuse expects config.algorithm "
                     "(SPARSECOLL_ALGO) auto or oktopk, got ",
                     algorithm_info(c.algorithm)->name)});
    c.selection = kDefaults.selection;
  }
  replace(&sparsecollConfig_t::wire, "SPARSECOLL_WIRE");
  replace(&sparsecollConfig_t::allowSharded, "SPARSECOLL_ALLOW_SHARDED");
  replace(&sparsecollConfig_t::nonFinite, "SPARSECOLL_NON_FINITE");
  c.denseBelow = first.value(c.denseBelow, [&] {
    return chosen_number<size_t>("SPARSECOLL_DENSE_BELOW").value_or(c.denseBelow);
  });
  c.expectedRanks = first.value(c.expectedRanks, [&] {
    return chosen_number("SPARSECOLL_EXPECTED_RANKS").value_or(c.expectedRanks);
  });
  c.timeoutMs = first.value(
      c.timeoutMs, [&] { return chosen_number("SPARSECOLL_TIMEOUT_MS").value_or(c.timeoutMs); });
}

}  // namespace

CheckedConfig check_config(const sparsecollConfig_t* config, bool check) {
  Config result;
  FirstError first;
  if (config) result.values = first.value(kDefaults, [&] { return copy_of(*config); });
  check_values(result.values, first);
  override_values(result.values, first);
  const auto set = [&first](auto& setting, auto get) { setting = first.value(setting, get); };
  result.check = check;
  set(result.check, [&] { return chosen_word("SPARSECOLL_CHECK", check) != 0; });
  set(result.log_level, [] { return static_cast<LogLevel>(chosen_word("SPARSECOLL_DEBUG", 0)); });
  result.log_file = environment("SPARSECOLL_DEBUG_FILE").value_or("");
  result.timeline = environment("SPARSECOLL_TIMELINE").value_or("");
  result.flight_recorder = environment("SPARSECOLL_FLIGHT_RECORDER").value_or("");
  set(result.flight_signal, [&] { return flight_signal(!result.flight_recorder.empty()); });
  set(result.ranks_per_node, [] { return chosen_number("SPARSECOLL_RANKS_PER_NODE").value_or(0); });
  set(result.tree, []() -> std::shared_ptr<const TopologyTree> {
    const auto file = environment("SPARSECOLL_TOPOLOGY");
    return file ? std::make_shared<TopologyTree>(TopologyTree::from_file(*file)) : nullptr;
  });
  result.slurm_address = environment("SLURM_TOPOLOGY_ADDR").value_or("");
  result.slurm_pattern = environment("SLURM_TOPOLOGY_ADDR_PATTERN").value_or("");
  set(result.simd, simd_level);
  set(result.binds, [] { return chosen_word("SPARSECOLL_BIND", 1) != 0; });
  set(result.threads, [] { return chosen_number("SPARSECOLL_THREADS"); });
  set(result.cuda_aware, [] { return chosen_switch("SPARSECOLL_CUDA_AWARE"); });
  set(result.mpi_eager, [] { return chosen_switch("SPARSECOLL_MPI_PIECES"); });
  set(result.spin_us, [] { return chosen_number("SPARSECOLL_SPIN_US"); });
  result.launched = launched_ranks();
  result.log_level = first.value(LogLevel::none, [&] {
    Log(result.log_level, result.log_file, "");  // throws if the file cannot be opened
    return result.log_level;
  });
  return {result, first.error()};
}

Config make_config(const sparsecollConfig_t* config, bool check) {
  CheckedConfig checked = check_config(config, check);
  if (checked.problem) throw Error(*checked.problem);
  return checked.config;
}

void check_nccl_device(const Config& config, int device) {
  const int wanted = config.values.device;
  if (wanted != INT_MIN && wanted != device)
    fail(sparsecollInvalidArgument, "config.device: expected that of the NCCL communicator, ",
         device, ", or INT_MIN, got ", wanted);
}

void check_stream_order(const Config& config) {
  if (config.values.nonFinite != sparsecollNonFiniteKeep)
    fail(sparsecollInvalidArgument,
         "config.nonFinite (SPARSECOLL_NON_FINITE): expected 0 (keep) over NCCL, where no message "
         "tells the host what its peers have found, got ",
         config.values.nonFinite, " (skip)");
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
  set(kAllowSharded, c.allowSharded);
  set(kNonFinite, c.nonFinite);
  set(kExpectedRanks, c.expectedRanks);
  descriptor.argument[kDenseBelow] = c.denseBelow;
  descriptor.argument[kTopology] = config.tree ? config.tree->identity() : 0;
  return descriptor;
}

}  // namespace sparsecoll
