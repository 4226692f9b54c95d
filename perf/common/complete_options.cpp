// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/complete_options.hpp"

#include <algorithm>

#include "calls/algorithm_info.hpp"
#include "common/algorithm_words.hpp"
#include "common/baselines.hpp"
#include "common/patterns.hpp"
#include "common/ranks.hpp"
#include "simulated/options.hpp"

namespace sparsecoll::perf {
namespace {

using Names = std::vector<std::string>;

bool contains(const Names& names, const std::string& name) {
  return std::ranges::count(names, name) > 0;
}

bool is_half(const Options& o) { return o.datatype == "float16" || o.datatype == "bfloat16"; }

/// Returns true if the result of a call depends on earlier calls, so that the steps of a search
/// cannot be checked.
bool depends_on_earlier_calls(const std::string& name) { return name == kReuse; }
/// Returns true if an algorithm may add in another order than that of the ranks. Only sums of
/// generated data are exact in any order.
bool reorders(const std::string& name) {
  const AlgorithmInfo* const algorithm = algorithm_named(name);
  return name == kReordered || (algorithm && algorithm->result == ResultKind::sums_by_node);
}

bool needs_dense_form(const std::string& name) {
  const AlgorithmInfo* const algorithm = algorithm_named(name);
  return algorithm && !algorithm->coordinate_form;
}

/// Checks the options that need --memory device, or host, and sets their defaults.
void complete_device(CLI::App& app, Options& o) {
  const bool device = o.memory == "device";
  for (const char* name : {"--kernel", "--pieces", "--cold", "--check-count"}) {
    if (!device && app.count(name) > 0) throw CLI::ValidationError(name, "needs --memory device");
  }
  for (const char* name : {"--nthreads", "--data", "--average", "--threads", "--simd"}) {
    if (device && app.count(name) > 0) throw CLI::ValidationError(name, "needs --memory host");
  }
  if (o.kernel_ranks.empty()) o.kernel_ranks = {2, 8, 64};
  if (device && o.kernel != "select" && app.count("--input") > 0) {
    throw CLI::ValidationError("--input", "needs --kernel select");
  }
  if (device && o.kernel == "select" && app.count("--pieces") > 0) {
    throw CLI::ValidationError("--pieces", "needs --kernel merge, pack or unpack");
  }
}

/// Checks that the calls can be captured.
void check_graph(const Options& o) {
  if (!o.graph) return;
  if (o.transport != "nccl") throw CLI::ValidationError("--cudagraph", "needs --transport nccl");
  if (o.form != "dense" || !o.tensors.empty())
    throw CLI::ValidationError("--cudagraph", "needs --form dense, and no --tensors");
  for (const std::string& name : o.algorithms) {
    if (name != kGtopk)
      throw CLI::ValidationError("--cudagraph", name + " cannot be captured: it waits for sizes");
  }
}

/// Checks --tensors, and sets the default algorithms of a search.
void complete_tensors(Options& o, const Program& program, const Names& baselines) {
  if (o.tensors.empty()) return;
  if (o.wire != "native") throw CLI::ValidationError("--tensors", "needs --wire native");
  if (o.form != "dense") throw CLI::ValidationError("--tensors", "needs --form dense");
  if (o.algorithms.empty()) {
    o.algorithms = program.default_algorithms;
    std::erase_if(o.algorithms, depends_on_earlier_calls);
  }
  for (const std::string& name : o.algorithms) {
    if (depends_on_earlier_calls(name)) {
      throw CLI::ValidationError("--tensors", name + " gives every step another result");
    }
    if (contains(baselines, name)) {
      throw CLI::ValidationError("--tensors", name + " is a baseline of MPI, which has no groups");
    }
  }
}

/// Sets the default of --algo: all algorithms that the other options permit.
void complete_algorithms(Options& o, const Program& program, const Names& baselines) {
  if (!o.algorithms.empty()) return;
  o.algorithms = program.default_algorithms;
  if (o.transport == "mpi" && o.memory == "host" && !is_half(o)) {
    o.algorithms.insert(o.algorithms.end(), baselines.begin(), baselines.end());
  }
  if (o.form != "dense") std::erase_if(o.algorithms, needs_dense_form);
  if (!o.data.empty()) std::erase_if(o.algorithms, reorders);
}

void check_algorithm(const std::string& name, const Options& o, bool is_baseline) {
  if (o.transport != "mpi" && is_baseline) {
    throw CLI::ValidationError("--algo", name + " is a baseline and needs --transport mpi");
  }
  if (o.memory != "host" && is_baseline) {
    throw CLI::ValidationError("--algo", name + " is a baseline and needs --memory host");
  }
  if (is_half(o) && is_baseline) {
    throw CLI::ValidationError("--algo",
                               name + " is a baseline of MPI, which has no " + o.datatype);
  }
  if (o.form != "dense" && needs_dense_form(name)) {
    throw CLI::ValidationError("--algo", name + " has no coordinate form; it needs --form dense");
  }
  if (o.check && !o.data.empty() && reorders(name)) {
    throw CLI::ValidationError("--algo", name + " adds in another order; --data needs -c 0");
  }
}

}  // namespace

std::vector<std::string> baselines_of(const Program& program) {
  Names names;
  for (const std::string& name : baseline_names()) {
    if (contains(program.baselines, name)) names.push_back(name);
  }
  return names;
}

void complete_options(CLI::App& app, Options& o, const Program& program) {
  if (o.min_bytes > o.max_bytes) {
    const bool minimum_given = app.count("--minbytes") > 0;
    if (minimum_given && app.count("--maxbytes") > 0) {
      throw CLI::ValidationError("-b", "is larger than -e");
    }
    // If only one end of the range was given, measure only that size.
    (minimum_given ? o.max_bytes : o.min_bytes) = minimum_given ? o.min_bytes : o.max_bytes;
  }
  if (o.densities.empty() && o.ks.empty()) o.densities = {0.001, 0.01};
  if (program.device) complete_device(app, o);
  if (program.algorithms.empty()) {
    if (o.inputs.empty()) o.inputs = {pattern_names().front()};
    o.transport = "local";
    return;
  }
  if (o.transport.empty()) o.transport = transports().front();
  check_transport(o);
  check_network(app, o.transport);
  if ((o.transport == "mpi" || o.transport == "ucx") && app.count("--nthreads") > 0) {
    throw CLI::ValidationError("-t",
                               "is the number of ranks that are threads; over mpi and ucx it is "
                               "the launcher's -n");
  }
  const Names baselines = baselines_of(program);
  complete_tensors(o, program, baselines);
  complete_algorithms(o, program, baselines);
  for (const std::string& name : o.algorithms) check_algorithm(name, o, contains(baselines, name));
  check_graph(o);
  if (o.rounds > o.iterations)
    throw CLI::ValidationError(
        "--rounds", "needs at least one timed call a round, as by -n " + std::to_string(o.rounds));
  if (o.rounds > 1 && !o.tensors.empty())
    throw CLI::ValidationError("--rounds", "cannot be used with --tensors");
  for (const std::string& name : o.algorithms)
    if (o.rounds > 1 && std::ranges::count(o.algorithms, name) > 1)
      throw CLI::ValidationError("--algo", name + " is named twice; --rounds needs different ones");
}

void check_transport(const Options& options) {
  if (options.memory == "copied" && (options.form != "dense" || !options.tensors.empty()))
    throw CLI::ValidationError("--memory", "copied needs --form dense, and no --tensors");
  if (options.transport == "nccl" && options.memory != "device")
    throw CLI::ValidationError("--transport", "nccl needs --memory device");
  if (options.transport == "simulated" && options.memory != "host")
    throw CLI::ValidationError("--transport", "simulated needs --memory host");
}

}  // namespace sparsecoll::perf
