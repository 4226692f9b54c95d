// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "device/kernel_report.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/record.hpp"
#include "device/device.hpp"

namespace sparsecoll::perf::device {
namespace {

std::vector<Column> columns_of(const std::string& kernel) {
  const Column copy{"copy", "copy",
                    kernel == "select" ? "cudaMemcpyAsync of the vector"
                                       : "cudaMemcpyAsync that moves as many bytes"};
  if (kernel == "select") {
    return {copy,
            {"r += g", "add", "in place, 16-byte accesses"},
            {"reduce", "reduce", "cub::DeviceReduce, the largest |x|"},
            {"sort", "sort", "keys, cub::DeviceRadixSort, gather and zeros"},
            {"unfused", "unfused", "like sort, with a kernel for each step"},
            {"cub topk", "device_topk", "cub::DeviceTopK, gather and zeros"}};
  }
  if (kernel == "merge") {
    return {copy,
            {"sort+red", "sort_and_reduce",
             "cub::DeviceRadixSort of all entries, cub::DeviceReduce::ReduceByKey"}};
  }
  return {copy};
}

std::string density_of(const Row& row) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g",
                row.count == 0 ? 0 : static_cast<double>(row.k) / static_cast<double>(row.count));
  return text;
}

}  // namespace

KernelReport::KernelReport(const Options& options, Gpu gpu, Machine machine)
    : options_(options),
      gpu_(std::move(gpu)),
      machine_(std::move(machine)),
      columns_(columns_of(options.kernel)),
      table_(table_columns(), false),
      json_(options.json) {}

std::vector<Table::Column> KernelReport::table_columns() const {
  std::vector<Table::Column> all = {
      {"count", "(elem)", 10}, {"k", "", 9}, {"density", "(k/n)", 8}, {"type", "", 8}};
  if (selects()) {
    all.insert(all.end(), {{"input", "", 10}, {"feedback", "", 8}});
  } else {
    all.push_back({options_.kernel == "merge" ? "pieces" : "messages", "", 8});
    all.push_back(options_.kernel == "merge" ? Table::Column{"nnz out", "", 10}
                                             : Table::Column{"wire", "(B/entry)", 9});
  }
  all.insert(all.end(), {{"median", "(us)", 10},
                         {"min", "(us)", 10},
                         {"avg", "(us)", 10},
                         {"max", "(us)", 10},
                         {"rate", "(GB/s)", 8}});
  for (const Column& column : columns_) all.push_back({column.title, "(x)", 8});
  all.push_back({"#wrong", "", 6});
  return all;
}

void KernelReport::header() const {
  table_.comment(options_.program + "  sparsecoll " + library_version() +
                 "  kernel: " + options_.kernel);
  table_.comment(gpu_.name + ", compute capability " + gpu_.capability + ", " +
                 std::to_string(gpu_.multiprocessors) + " multiprocessors, " +
                 std::to_string(gpu_.memory >> 20) + " MiB, cache " +
                 std::to_string(gpu_.cache >> 10) + " KiB; CUDA " + cuda_version(gpu_.runtime) +
                 ", driver for " + cuda_version(gpu_.driver));
  table_.comment("time of a call: by events on its stream, " + std::to_string(options_.iterations) +
                 " calls after " + std::to_string(options_.warmup) +
                 (options_.cold ? ", the cache overwritten before each" : ", back to back"));
  table_.comment("rate: least number of bytes to read and write, over the median");
  table_.comment("(x): the median over the median, on the same data, of");
  for (const Column& column : columns_)
    table_.comment("  " + column.title + ": " + column.description);
  table_.comment("");
  table_.titles();
}

void KernelReport::write(const Row& row) {
  if (row.wrong) wrong_ = wrong_.value_or(0) + *row.wrong;
  std::vector<std::string> cells = {std::to_string(row.count), std::to_string(row.k),
                                    density_of(row), options_.datatype};
  if (selects()) {
    cells.insert(cells.end(), {row.input, row.feedback ? "1" : "0"});
  } else {
    const bool merges = options_.kernel == "merge";
    const double entries = static_cast<double>(std::max<size_t>(row.k, 1));
    cells.push_back(std::to_string(row.kernel_ranks));
    cells.push_back(!row.output_size ? "-"
                    : merges         ? std::to_string(*row.output_size)
                                     : number(static_cast<double>(*row.output_size) / entries));
  }
  for (const double seconds :
       {row.times.median, row.times.minimum, row.times.average, row.times.maximum})
    cells.push_back(microseconds(seconds));
  cells.push_back(number(row.bytes / row.times.median * 1e-9));
  for (const auto& other : row.baselines)
    cells.push_back(other ? number(row.times.median / other->median) : "-");
  cells.push_back(count_or_na(row.wrong));
  table_.row(cells);
  write_json(row);
}

void KernelReport::write_json(const Row& row) {
  nlohmann::ordered_json json = run_json(options_, machine_, 1);
  for (const char* of_ranks :
       {"mpi", "hosts", "placement", "ranks", "transport", "time_over_ranks"})
    json.erase(of_ranks);
  json["device"] = gpu_.name;
  json["capability"] = gpu_.capability;
  json["multiprocessors"] = gpu_.multiprocessors;
  json["cuda_runtime"] = cuda_version(gpu_.runtime);
  json["cuda_driver"] = cuda_version(gpu_.driver);
  json["cold"] = options_.cold;
  json["kernel"] = options_.kernel;
  json["count"] = row.count;
  json["k"] = row.k;
  if (selects()) {
    json["input"] = row.input;
    json["feedback"] = row.feedback;
  } else {
    json.erase("feedback");
    json["pieces"] = row.kernel_ranks;
    if (row.output_size)
      json[options_.kernel == "merge" ? "nnz_out" : "wire_bytes"] = *row.output_size;
  }
  json["bytes"] = row.bytes;
  const auto add_times = [&json](const std::string& name, const Times& t) {
    json[name + "_avg_us"] = t.average * 1e6;
    json[name + "_min_us"] = t.minimum * 1e6;
    json[name + "_median_us"] = t.median * 1e6;
    json[name + "_max_us"] = t.maximum * 1e6;
  };
  add_times("time", row.times);
  for (size_t c = 0; c < columns_.size(); ++c)
    if (row.baselines[c]) add_times(columns_[c].key, *row.baselines[c]);
  json["wrong"] = row.wrong ? nlohmann::ordered_json(*row.wrong) : nlohmann::ordered_json(nullptr);
  json_.write(json);
}

int KernelReport::conclude() const { return perf::conclude(table_, wrong_); }

}  // namespace sparsecoll::perf::device
