// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Measures sparsecollTopk, the local selection. For comparison it measures passes over the same
// memory with as many threads, which are a lower bound, and std::nth_element, which a program
// without the library would use. With --memory device it measures CUDA kernels (device/).
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/handles.hpp"
#include "common/machine.hpp"
#include "common/oracle.hpp"
#include "common/patterns.hpp"
#include "common/record.hpp"
#include "common/recorder.hpp"
#include "common/report.hpp"
#include "common/selection_baselines.hpp"
#include "common/timing.hpp"
#include "common/vectors.hpp"
#include "device/device.hpp"

namespace sparsecoll::perf {
namespace {

struct Case {
  std::string input;
  std::size_t n;
  std::size_t k;
  bool feedback;
};

template <class T>
class TopkBench {
 public:
  TopkBench(const Options& options, Ranks& ranks)
      : options_(options),
        ranks_(ranks),
        single_rank_(connect_single_rank()),
        machine_(describe_machine(ranks)),
        table_(columns(), ranks.rank() != 0),
        json_(ranks.rank() == 0 ? options.json : ""),
        progress_(options.progress, ranks.rank() != 0) {}

  int run() {
    header();
    if (!options_.data.empty()) {
      const auto file = vectors_of_file<T>(options_.data, ranks_.rank());
      std::vector<T> x(file->count());
      file->fill(ranks_.rank(), 0, x);
      run_vector("file", x);
    } else {
      for (const std::size_t n : lengths(options_, sizeof(T))) {
        std::vector<T> x(n);
        for (const std::string& input : options_.inputs) {
          fill_pattern<T>(input, ranks_.rank(), options_, x);
          run_vector(input, x);
        }
      }
    }
    progress_.clear();
    return conclude(table_, options_.check ? std::optional(wrong_) : std::nullopt);
  }

 private:
  static std::vector<Table::Column> columns() {
    return {{"size", "(B)", 11},     {"count", "(elem)", 10},  {"k", "", 9},
            {"density", "(k/n)", 8}, {"type", "", 8},          {"input", "", 10},
            {"feedback", "", 8},     {"time avg", "(us)", 10}, {"min", "(us)", 10},
            {"median", "(us)", 10},  {"max", "(us)", 10},      {"rate", "(GB/s)", 8},
            {"read", "(x)", 8},      {"r += g", "(x)", 8},     {"copy", "(x)", 8},
            {"nth_elem", "(x)", 8},  {"#wrong", "", 6}};
  }

  void header() const {
    table_.comment(options_.program + "  sparsecoll " + library_version());
    table_.comment("threads: " + std::to_string(ranks_.size()) +
                   ", each with its own vector; cores: " + std::to_string(machine_.cores) +
                   (machine_.kind.empty() ? "" : ", " + machine_.kind));
    table_.comment("selection: " + std::to_string(options_.selection_threads) + " threads, simd " +
                   options_.simd);
    table_.comment("time of a call: " + options_.combine + " over threads; " +
                   std::to_string(options_.iterations) + " calls after " +
                   std::to_string(options_.warmup));
    table_.comment("rate: bytes of the vector over the least time");
    table_.comment("(x): the least time over the least time, on the same data, of");
    table_.comment("  read: a pass that sums magnitudes; r += g: in place; copy: to a vector;");
    table_.comment("  nth_elem: magnitudes to a vector, then std::nth_element");
    table_.comment("");
    table_.titles();
  }

  void run_vector(const std::string& input, const std::vector<T>& x) {
    progress_.show(input + ", n = " + std::to_string(x.size()));
    SelectionBaselines baselines;
    measure_passes<T>(ranks_, options_, x, baselines);
    for (const std::size_t k : selections(options_, x.size())) {
      measure_nth_element<T>(ranks_, options_, x, k, baselines);
      for (const bool feedback : {false, true}) {
        run_case({input, x.size(), k, feedback}, x, baselines);
      }
    }
  }

  void run_case(const Case& c, const std::vector<T>& x, const SelectionBaselines& baselines) {
    Residual residual;
    if (c.feedback) residual = Residual(c.n, datatype_of<T>(), single_rank_.get());
    std::vector<std::uint32_t> index(c.k);
    std::vector<T> value(c.k);
    sparsecollSparse_t out = SPARSECOLL_SPARSE_INITIALIZER;
    out.capacity = c.k;
    out.indices = index.data();
    out.values = value.data();
    out.datatype = datatype_of<T>();
    const auto call = [&] {
      require(sparsecollTopk(x.data(), c.n, c.k, datatype_of<T>(), residual.get(), &out,
                             single_rank_.get(), nullptr),
              single_rank_.get(), "sparsecollTopk");
    };
    const Times times = measure(
        ranks_, options_, [] {}, call);
    std::optional<std::size_t> wrong;
    if (options_.check) {
      residual.reset();
      call();
      index.resize(out.nnz);
      const std::vector<std::size_t> all = ranks_.gather_value(count_wrong(
          c, x, {{index.begin(), index.end()}, {value.begin(), value.end()}}, residual));
      wrong = std::accumulate(all.begin(), all.end(), std::size_t{0});
      wrong_ += *wrong;
    }
    report(c, times, baselines, wrong);
  }

  std::size_t count_wrong(const Case& c, std::span<const T> x, const Entries<Wide<T>>& got,
                          const Residual& residual) const {
    std::vector<Wide<T>> buffer;
    const Entries<Wide<T>> want = top_k<Wide<T>>(widened<T>(x, buffer), c.k);
    const std::size_t common = std::min(got.size(), want.size());
    std::size_t wrong = std::max(got.size(), want.size()) - common;
    for (std::size_t j = 0; j < common; ++j) {
      const bool right = got.index[j] == want.index[j] && got.value[j] == want.value[j];
      wrong += right ? 0 : 1;
    }
    if (!c.feedback) return wrong;
    std::vector<Wide<T>> left(x.begin(), x.end());
    leave_residual<Wide<T>>(left, want, want, {});
    std::vector<Wide<T>> kept(c.n);
    residual.read(kept.data());
    for (std::size_t i = 0; i < c.n; ++i) wrong += kept[i] == left[i] ? 0 : 1;
    return wrong;
  }

  void report(const Case& c, const Times& times, const SelectionBaselines& y,
              const std::optional<std::size_t>& wrong) {
    progress_.clear();
    const double bytes = static_cast<double>(c.n * sizeof(T));
    const auto ratio = [&](const Times& baseline) {
      return baseline.minimum > 0 ? times.minimum / baseline.minimum : 0;
    };
    const double density = c.n == 0 ? 0 : static_cast<double>(c.k) / static_cast<double>(c.n);
    char density_text[32];
    std::snprintf(density_text, sizeof(density_text), "%.3g", density);
    table_.row({std::to_string(c.n * sizeof(T)), std::to_string(c.n), std::to_string(c.k),
                density_text, options_.datatype, c.input, c.feedback ? "1" : "0",
                microseconds(times.average), microseconds(times.minimum),
                microseconds(times.median), microseconds(times.maximum),
                number(bytes / times.minimum * 1e-9), number(ratio(y.read)), number(ratio(y.add)),
                number(ratio(y.copy)), number(ratio(y.nth_element)), count_or_na(wrong)});
    nlohmann::ordered_json row = run_json(options_, machine_, ranks_.size());
    row["feedback"] = c.feedback;
    row["threads"] = options_.selection_threads;
    row["simd"] = options_.simd;
    row["input"] = c.input;
    row["bytes"] = c.n * sizeof(T);
    row["count"] = c.n;
    row["k"] = c.k;
    row["density"] = density;
    const auto add_times = [&row](const std::string& name, const Times& t) {
      row[name + "_avg_us"] = t.average * 1e6;
      row[name + "_min_us"] = t.minimum * 1e6;
      row[name + "_median_us"] = t.median * 1e6;
      row[name + "_max_us"] = t.maximum * 1e6;
    };
    add_times("time", times);
    add_times("read", y.read);
    add_times("add", y.add);
    add_times("copy", y.copy);
    add_times("nth_element", y.nth_element);
    row["wrong"] = wrong ? nlohmann::ordered_json(*wrong) : nlohmann::ordered_json(nullptr);
    json_.write(row);
  }

  const Options& options_;
  Ranks& ranks_;
  Communicator single_rank_;
  Machine machine_;
  Table table_;
  JsonFile json_;
  Progress progress_;
  std::size_t wrong_ = 0;
};

}  // namespace
}  // namespace sparsecoll::perf

namespace perf = sparsecoll::perf;

int main(int argc, char** argv) {
  perf::Program program;
  program.name = "topk_perf";
  program.description =
      "Time and correctness of sparsecollTopk, compared with passes over the same memory.";
  program.examples = R"(
  topk_perf -b 256M -e 256M --density 0.001,0.01 --threads 2
  topk_perf --input random,equal,sorted,hot,two-valued --simd portable
  topk_perf --memory device --kernel select -b 64M -e 64M)";
  program.device = true;
  int status = 0;
  const std::optional<perf::Options> options = perf::parse(argc, argv, program, &status);
  if (!options) return status;
  if (options->recorded_calls > 0)
    return perf::measure_recorder(options->recorded_calls, options->iterations);
  if (options->memory == "device") return perf::measure_on_device(*options);
  setenv("SPARSECOLL_THREADS", std::to_string(options->selection_threads).c_str(), 1);
  setenv("SPARSECOLL_SIMD", options->simd.c_str(), 1);
  return perf::launch(options->world(), [&](perf::Ranks& ranks) {
    if (options->datatype == "float16")
      return perf::TopkBench<perf::Float16>(*options, ranks).run();
    if (options->datatype == "bfloat16")
      return perf::TopkBench<perf::Bfloat16>(*options, ranks).run();
    if (options->datatype == "float64") return perf::TopkBench<double>(*options, ranks).run();
    return perf::TopkBench<float>(*options, ranks).run();
  });
}
