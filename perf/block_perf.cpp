// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Measures exact sums of vectors of blocks, such as the rows of an embedding: the addition in
// memory, against a copy that reads and writes as many bytes, and the bytes that sparseAllreducev
// sends, against those of the values. Ranks are threads.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "common/handles.hpp"
#include "common/machine.hpp"
#include "common/report.hpp"
#include "common/timing.hpp"
#include "core/arena.hpp"
#include "core/memory.hpp"
#include "kernels/host/backend.hpp"
#include "kernels/kernels.hpp"

namespace {

using namespace sparsecoll;
using namespace sparsecoll::perf;

struct BlockOptions {
  std::size_t block = 64;
  std::size_t count = 1000000;
  std::size_t entries = 20000;
  std::vector<std::size_t> ranks{2, 4, 8};
  std::vector<double> common{0, 0.9};
  int iterations = 20;
  std::string json;
};

/// One rank's vector: indices that rise, and a block of values for each.
struct Input {
  std::vector<std::uint32_t> index;
  std::vector<float> value;
};

/// Returns the ranks' vectors. The share `common` of the indices is the same on all ranks, and no
/// other index is on two.
std::vector<Input> make_inputs(const BlockOptions& options, std::size_t ranks, double common) {
  const std::size_t stride =
      std::max(options.count / std::max<std::size_t>(options.entries, 1), ranks + 1);
  std::mt19937 random(1);
  std::vector<Input> inputs(ranks);
  for (std::size_t j = 0; j < options.entries && (j + 1) * stride <= options.count; ++j) {
    const bool is_common = std::uniform_real_distribution<>()(random) < common;
    for (std::size_t p = 0; p < ranks; ++p) {
      const std::size_t place = is_common ? 0 : 1 + p + ranks * (random() % ((stride - 1) / ranks));
      inputs[p].index.push_back(static_cast<std::uint32_t>(j * stride + place));
    }
  }
  for (Input& input : inputs)
    for (std::size_t i = 0; i < input.index.size() * options.block; ++i)
      input.value.push_back(static_cast<float>(random() % 1000));
  return inputs;
}

template <class Call>
Times time_of(const BlockOptions& options, const Call& call) {
  std::vector<double> seconds;
  for (int i = -2; i < options.iterations; ++i) {
    const auto start = std::chrono::steady_clock::now();
    call();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (i >= 0) seconds.push_back(took.count());
  }
  return summary(std::move(seconds));
}

struct Merged {
  Times merge;
  Times copy;
  std::size_t entries = 0;
  std::vector<float> value;
};

/// Times the addition of the vectors, and a copy of the mean of the bytes that it reads and writes.
Merged merge(const BlockOptions& options, const std::vector<Input>& inputs) {
  Memory memory;
  Arena arena(memory);
  const Arena::Scope scope(arena);
  host::Backend backend(arena, host::best_simd());
  Kernels& kernels =
      make_host_kernels(DataType::float32, IndexType::index32, backend, options.block);
  std::vector<SparseSpan> spans;
  std::size_t all = 0;
  for (const Input& input : inputs) {
    uint64_t* const nnz = kernels.counts(1);
    *nnz = input.index.size();
    spans.push_back({input.index.data(), input.value.data(), {input.index.size(), nnz}});
    all += input.index.size();
  }
  const SparseBuffer sum = kernels.sparse(all);
  Merged result;
  result.merge = time_of(options, [&] { kernels.merge(spans, sum); });
  result.entries = *sum.nnz;
  const auto* const value = static_cast<const float*>(sum.value);
  result.value.assign(value, value + result.entries * options.block);
  const std::size_t bytes =
      (all + result.entries) * (options.block * sizeof(float) + sizeof(std::uint32_t)) / 2;
  const std::vector<char> from(bytes, 1);
  std::vector<char> to(bytes, 2);
  result.copy = time_of(options, [&] { std::memcpy(to.data(), from.data(), bytes); });
  return result;
}

struct Summed {
  std::size_t bytes = 0;  ///< bytes that all ranks sent in the second call
  std::size_t wrong = 0;  ///< values on any rank that are not those of the merge
};

/// Adds one rank's vector to those of the others, twice. Returns the bytes that it sent in the
/// second call, and the wrong values.
Summed add_rank(const BlockOptions& options, Input& input, const Merged& want,
                sparsecollComm_t comm) {
  std::vector<std::uint32_t> index(want.entries);
  std::vector<float> value(want.value.size());
  sparsecollSparse_t send = SPARSECOLL_SPARSE_INITIALIZER, recv = SPARSECOLL_SPARSE_INITIALIZER;
  send.count = options.count;
  send.blockSize = recv.blockSize = options.block;
  send.nnz = send.capacity = input.index.size();
  send.indices = input.index.data();
  send.values = input.value.data();
  recv.capacity = want.entries;
  recv.indices = index.data();
  recv.values = value.data();
  for (int call = 0; call < 2; ++call)
    require(sparseAllreducev(&send, &recv, SPARSECOLL_ALL, sparsecollSum, nullptr, comm, nullptr),
            comm, "sparseAllreducev");
  sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
  require(sparsecollCommGetStats(comm, sparsecollStatsLast, &stats), comm, "statistics");
  Summed result{stats.bytesSent, recv.nnz == want.entries ? 0 : want.entries};
  for (std::size_t i = 0; i < value.size(); ++i) result.wrong += value[i] != want.value[i];
  return result;
}

/// Adds the vectors of ranks that are threads.
Summed allreduce(const BlockOptions& options, std::vector<Input>& inputs, const Merged& want) {
  std::vector<sparsecollComm_t> comms(inputs.size());
  sparsecollConfig_t config = SPARSECOLL_CONFIG_INITIALIZER;
  config.algorithm = sparsecollAlgoOktopk;
  require(sparsecollCommInitAll(comms.data(), static_cast<int>(comms.size()), nullptr, &config),
          nullptr, "sparsecollCommInitAll");
  std::vector<Summed> results(inputs.size());
  std::vector<std::thread> threads;
  for (std::size_t p = 0; p < inputs.size(); ++p)
    threads.emplace_back([&, p] {
      results[p] = add_rank(options, inputs[p], want, comms[p]);
      sparsecollCommDestroy(comms[p]);
    });
  for (std::thread& each : threads) each.join();
  Summed all;
  for (const Summed& each : results) {
    all.bytes += each.bytes;
    all.wrong += each.wrong;
  }
  return all;
}

/// Returns the bytes of the values that all ranks must send with even regions: each sends what it
/// has of the others' regions, and its region of the sum to all others.
double bytes_of_values(const BlockOptions& options, const std::vector<Input>& inputs,
                       const Merged& sum) {
  const double ranks = static_cast<double>(inputs.size());
  double blocks = static_cast<double>(sum.entries) * (ranks - 1);
  for (const Input& each : inputs)
    blocks += static_cast<double>(each.index.size()) * (ranks - 1) / ranks;
  return blocks * static_cast<double>(options.block * sizeof(float));
}

std::size_t run(const BlockOptions& options) {
  const Table table({{"ranks", "", 5},
                     {"common", "", 6},
                     {"sum", "(blocks)", 9},
                     {"merge min", "(us)", 10},
                     {"median", "(us)", 10},
                     {"copy min", "(us)", 10},
                     {"of copy", "(%)", 8},
                     {"sent", "(x values)", 10},
                     {"#wrong", "", 6}},
                    false);
  JsonFile json(options.json);
  table.comment("block_perf  sparsecoll " + library_version() + "  " +
                std::to_string(options.entries) + " blocks of " + std::to_string(options.block) +
                " floats a rank, of " + std::to_string(options.count));
  table.comment("copy: of the mean of the bytes that the merge reads and writes");
  table.comment("of copy: the rate of the merge, by the least times");
  table.titles();
  std::size_t wrong = 0;
  for (const std::size_t ranks : options.ranks)
    for (const double common : options.common) {
      std::vector<Input> inputs = make_inputs(options, ranks, common);
      const Merged sum = merge(options, inputs);
      const Summed summed = allreduce(options, inputs, sum);
      const double share = 100 * sum.copy.minimum / sum.merge.minimum;
      const double values = bytes_of_values(options, inputs, sum);
      const double sent = values > 0 ? static_cast<double>(summed.bytes) / values : 0;
      table.row({std::to_string(ranks), number(common), std::to_string(sum.entries),
                 microseconds(sum.merge.minimum), microseconds(sum.merge.median),
                 microseconds(sum.copy.minimum), number(share), number(sent),
                 std::to_string(summed.wrong)});
      json.write({{"program", "block_perf"},
                  {"block", options.block},
                  {"count", options.count},
                  {"entries", options.entries},
                  {"ranks", ranks},
                  {"common", common},
                  {"sum", sum.entries},
                  {"merge_min_us", sum.merge.minimum * 1e6},
                  {"merge_median_us", sum.merge.median * 1e6},
                  {"copy_min_us", sum.copy.minimum * 1e6},
                  {"copy_median_us", sum.copy.median * 1e6},
                  {"sent_bytes", summed.bytes},
                  {"value_bytes", values},
                  {"wrong", summed.wrong}});
      wrong += summed.wrong;
    }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  BlockOptions options;
  CLI::App app("Measures exact sums of vectors of blocks.");
  app.add_option("--block", options.block, "floats of a block")->check(CLI::Range(1, 1 << 20));
  app.add_option("--count", options.count, "blocks of the dense vector");
  app.add_option("--entries", options.entries, "blocks of each rank");
  app.add_option("-t,--ranks", options.ranks, "numbers of ranks")->delimiter(',');
  app.add_option("--common", options.common, "shares of blocks that all ranks have")
      ->delimiter(',');
  app.add_option("-n,--iterations", options.iterations, "timed merges")
      ->check(CLI::Range(1, 1000000));
  app.add_option("-J,--json", options.json, "file for JSON rows");
  CLI11_PARSE(app, argc, argv);
  try {
    const std::size_t wrong = run(options);
    std::printf("# Wrong results : %zu %s\n", wrong, wrong == 0 ? "OK" : "FAILED");
    return wrong == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "block_perf: %s\n", error.what());
    return 2;
  }
}
