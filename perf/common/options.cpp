// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "common/command_line.hpp"
#include "common/complete_options.hpp"
#include "common/patterns.hpp"
#include "common/ranks.hpp"
#include "simulated/options.hpp"

namespace sparsecoll::perf {
namespace {

using Names = std::vector<std::string>;

/// Adds a flag whose value is 0 or 1, as in nccl-tests.
void add_switch(CLI::App& app, const std::string& name, bool& value, const std::string& text) {
  app.add_option_function<int>(
         name, [&value](const int& given) { value = given != 0; }, text)
      ->check(CLI::IsMember(std::vector<int>{0, 1}))
      ->default_str(value ? "1" : "0");
}

void add_sweep(CLI::App& app, Options& o) {
  // Sizes with a suffix: K, M, G are powers of 1024, as in nccl-tests.
  const auto size = size_value();
  app.add_option("-b,--minbytes", o.min_bytes, "smallest dense vector, bytes (K, M, G)")
      ->transform(size)
      ->default_str("1M");
  app.add_option("-e,--maxbytes", o.max_bytes, "largest dense vector, bytes (K, M, G)")
      ->transform(size)
      ->default_str("16M");
  app.add_option("-f,--stepfactor", o.factor, "factor between sizes, above 1")
      ->check(CLI::Range(1.001, 1e9))
      ->capture_default_str();
  auto* densities = app.add_option("--density", o.densities, "k/n, comma separated [0.001,0.01]")
                        ->delimiter(',')
                        ->check(CLI::Range(0.0, 1.0));
  app.add_option("-k,--k", o.ks, "entries kept, comma separated, instead of --density")
      ->delimiter(',')
      ->transform(size)
      ->excludes(densities);
  app.add_option("-d,--datatype", o.datatype)
      ->check(CLI::IsMember(Names{"float16", "bfloat16", "float32", "float64"}))
      ->capture_default_str();
  app.add_option("--data", o.data,
                 "dense vectors from a file of raw little-endian float32 instead of generated "
                 "ones; %r in its name is the rank; its length is the count")
      ->excludes("--minbytes")
      ->excludes("--maxbytes")
      ->excludes("--stepfactor");
  app.add_option("--seed", o.seed, "seed of the generated data")->capture_default_str();
}

void add_measurement(CLI::App& app, Options& o, const Program& program) {
  app.add_option("-n,--iters", o.iterations, "timed calls")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("-w,--warmup_iters", o.warmup, "calls before the timed ones")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  if (!program.algorithms.empty())
    app.add_option("--rounds", o.rounds,
                   "divide the timed calls into this many rounds, in which the algorithms take "
                   "turns, so that a disturbance meets all of them; all of their vectors are in "
                   "memory at the same time")
        ->check(CLI::Range(1, 1000000))
        ->capture_default_str();
  add_switch(app, "-c,--check", o.check,
             program.device
                 ? "compare the results with the serial definition; with --memory device, "
                   "compare them with those of the host's kernels, bit for bit"
                 : "compare the results of the first call and of one after the timed "
                   "ones with the serial definition");
  app.add_option(
         "-a,--average", o.combine,
         "the time of a call: average, min or max of the ranks' times, or makespan, from the "
         "first start to the last end, for ranks of one machine")
      ->check(CLI::IsMember(Names{"average", "min", "max", "makespan"}))
      ->capture_default_str();
  app.add_option_function<int>(
         "-z,--blocking", [](const int&) {}, "1: a call returns when it is done")
      ->check(CLI::IsMember(std::vector<int>{1}))
      ->default_str("1");
  app.add_option("--memory", o.memory,
                 program.device || program.owners
                     ? "memory of the vectors"
                     : "memory of the vectors; copied: they are on devices, and each call copies "
                       "its input to page-locked memory of the host and its result back")
      ->check(CLI::IsMember(program.device || program.owners ? Names{"host", "device"}
                                                             : Names{"host", "device", "copied"}))
      ->capture_default_str();
  app.add_option("-J,--output_file", o.json, "write the rows as JSON, one object per line");
  app.add_flag("--progress", o.progress,
               "show on stderr what is measured now (default: on a terminal)");
}

void add_device(CLI::App& app, Options& o) {
  app.add_option("--flight-recorder", o.recorded_calls,
                 "measure what the flight recorder adds to a call, over so many calls in each of "
                 "-n runs, and nothing else")
      ->check(CLI::Range(1, 1000000000));
  app.add_option("--kernel", o.kernel, "with --memory device: the kernel to measure")
      ->check(CLI::IsMember(Names{"select", "merge", "pack", "unpack"}))
      ->capture_default_str();
  app.add_option("-p,--pieces", o.kernel_ranks,
                 "inputs of --kernel merge, messages of pack and unpack, comma separated [2,8,64]")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  add_switch(app, "--cold", o.cold,
             "with --memory device: the device's cache is overwritten before each call");
  app.add_option("--check-count", o.check_count,
                 "with --memory device: results with more entries (K, M, G) are not checked")
      ->transform(size_value())
      ->default_str("16M");
}

void add_collective(CLI::App& app, Options& o, const Program& program) {
  Names valid = program.algorithms;
  for (const std::string& name : baselines_of(program)) valid.push_back(name);
  app.add_option("--algo", o.algorithms, "algorithms, comma separated; all run on the same data")
      ->delimiter(',')
      ->check(CLI::IsMember(valid));
  app.add_option("--transport", o.transport, kTransportWords)
      ->check(CLI::IsMember(transports()))
      ->default_str(transports().front());
  add_network(app, o.network);
  if (!program.owners) {
    add_switch(app, "-G,--cudagraph", o.graph,
               "over nccl: each timed call launches a CUDA graph that contains one call; only "
               "gtopk can be captured");
  }
  app.add_option("--overlap", o.overlap, "fraction of the support common to all ranks")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  if (program.owners) {
    o.form = "owners";
    app.add_option("--skew", o.owner_skew,
                   "Zipf's exponent of the owners: rank r owns (r + 1)^-skew of the indices; 0 = "
                   "even")
        ->check(CLI::Range(0.0, 20.0))
        ->capture_default_str();
    return;
  }
  if (program.tensors) {
    app.add_option(
           "--tensors", o.tensors,
           "search for the size of groups of tensors, in bytes, for which a step is fastest; "
           "the value is the tensors' counts, comma separated, or a file of them")
        ->excludes("--minbytes", "--maxbytes", "--stepfactor", "--data", "--k");
  }
  add_switch(app, "--feedback", o.feedback, "with a residual (error feedback)");
  app.add_option("--wire", o.wire,
                 "type in which the library sends values: their own, bfloat16, or 8 bits with "
                 "scales; results are then checked up to rounding, and residuals are not checked")
      ->check(CLI::IsMember(Names{"native", "bf16", "int8"}))
      ->capture_default_str();
  app.add_option("-o,--op", o.op)->check(CLI::IsMember(Names{"sum", "avg"}))->capture_default_str();
  app.add_option("--form", o.form,
                 "dense: dense input and result; sparse: the v verb, without a selection, the "
                 "result is the top-k of the sum; sum: the v verb, the result is the whole sum")
      ->check(CLI::IsMember(Names{"dense", "sparse", "sum"}))
      ->capture_default_str();
  app.add_option("--skew", o.skew,
                 "the first sixteenth of the vector is this many times as dense in large entries "
                 "as the rest; 1 = even")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
}

}  // namespace

std::optional<Options> parse(int argc, char** argv, const Program& program, int* status) {
  Options options;
  options.program = program.name;
  CLI::App app(program.description, program.name);
  add_sweep(app, options);
  add_measurement(app, options, program);
  if (program.device) add_device(app, options);
  auto* threads =
      app.add_option("-t,--nthreads,--ranks", options.threads)->check(CLI::Range(1, 4096));
  if (program.algorithms.empty()) {
    options.threads = 1;
    threads->description("threads, each with a vector of its own");
    app.add_option("--threads", options.selection_threads,
                   "threads that select from one vector, and that make the passes over memory")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    app.add_option("--simd", options.simd, "vector instructions (SPARSECOLL_SIMD)")
        ->check(CLI::IsMember(Names{"auto", "avx512", "avx2", "portable"}))
        ->capture_default_str();
    app.add_option("--input", options.inputs, "kinds of data, comma separated [random]")
        ->delimiter(',')
        ->check(CLI::IsMember(pattern_names()))
        ->excludes("--data");
  } else {
    threads->description("ranks of --transport local, simulated and nccl");
    add_collective(app, options, program);
  }
  threads->capture_default_str();
  const auto complete = [&] { complete_options(app, options, program); };
  if (!parse_command_line(app, argc, argv, program.examples, complete, status)) return std::nullopt;
  return options;
}

std::vector<std::size_t> lengths(const Options& options, std::size_t element) {
  std::vector<std::size_t> all;
  for (double bytes = static_cast<double>(options.min_bytes);
       bytes <= static_cast<double>(options.max_bytes); bytes *= options.factor) {
    const std::size_t n = static_cast<std::size_t>(bytes) / element;
    if (all.empty() || n > all.back()) all.push_back(n);
    if (bytes == 0) break;
  }
  return all;
}

std::vector<std::size_t> selections(const Options& options, std::size_t n) {
  std::vector<std::size_t> all;
  const auto add = [&all](std::size_t k) {
    // Different densities of a small vector may give the same k.
    if (std::ranges::count(all, k) == 0) all.push_back(k);
  };
  for (const std::size_t k : options.ks) add(std::min(k, n));
  for (const double density : options.densities) {
    const auto k = static_cast<std::size_t>(std::llround(density * static_cast<double>(n)));
    add(density > 0 && n > 0 ? std::max<std::size_t>(k, 1) : 0);
  }
  return all;
}

}  // namespace sparsecoll::perf
