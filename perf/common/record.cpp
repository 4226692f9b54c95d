// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/record.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "simulated/options.hpp"

namespace sparsecoll::perf {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json value_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string label(const Record& record) {
  const bool same = record.ran.empty() || record.ran == record.algorithm;
  return same ? record.algorithm : record.algorithm + ':' + record.ran;
}

/// Formats a count with its noun: "1 rank", "4 ranks".
std::string counted(int count, const std::string& noun) {
  return std::to_string(count) + ' ' + noun + (count == 1 ? "" : "s");
}

/// Rounds to a nanosecond.
double rounded(double microseconds) { return std::round(microseconds * 1e3) / 1e3; }

double skew_of(const Options& options) {
  return options.form == "owners" ? options.owner_skew : options.skew;
}

std::string data_name(const Options& options) {
  return options.data.empty() ? "generated"
                              : std::filesystem::path(options.data).filename().string();
}

Json network_json(const NetworkModel& model) {
  Json network;
  network["bits_per_second"] = model.rate;
  network["latency_us"] = rounded(model.latency * 1e6);
  network["overhead_us"] = rounded(model.overhead * 1e6);
  network["byte_overhead_ns"] = rounded(model.byte_overhead * 1e9);
  network["ranks_per_node"] = model.ranks_per_node;
  network["cores"] = model.cores;
  network["compute"] = model.compute;
  return network;
}

}  // namespace

double Record::density() const {
  return n == 0 ? 0 : static_cast<double>(k) / static_cast<double>(n);
}

std::optional<double> Record::wire_bytes_per_entry(int ranks) const {
  if (ranks < 2 || mean_nnz_in == 0) return std::nullopt;
  return wire_bytes / (mean_nnz_in * (ranks - 1) / ranks);
}

std::vector<Table::Column> record_columns(const Options& options) {
  return {{"size", "(B)", 11},
          {"count", "(elem)", 10},
          {"density", "(k/n)", 8},
          {"nnz in", "", 9},
          {"nnz out", "", 9},
          {"type", "", 8},
          {"op", "", 4},
          {"algo", "", 14},
          {"time avg", "(us)", 10},
          {"min", "(us)", 10},
          {"median", "(us)", 10},
          {"max", "(us)", 10},
          {"select", "(us)", 9},
          {"wire", "(B/rank)", 12},
          {"wire", "(B/entry)", 9},
          {"floor", "(x)", 6},
          {"faster", options.form == "owners" ? "(x mpi)" : "(x dense)", 9},
          {"#wrong", "", 6}};
}

std::vector<std::string> record_cells(const Record& record, const Options& options, int ranks) {
  const std::optional<double> entry = record.wire_bytes_per_entry(ranks);
  const std::optional<double> faster = record.times_faster_than_dense
                                           ? record.times_faster_than_dense
                                           : record.times_faster_than_mpi;
  char density[32];
  std::snprintf(density, sizeof(density), "%.3g", record.density());
  return {std::to_string(record.bytes),
          std::to_string(record.n),
          density,
          std::to_string(record.nnz_in),
          std::to_string(record.nnz_out),
          options.datatype,
          options.op,
          label(record),
          microseconds(record.times.average),
          microseconds(record.times.minimum),
          microseconds(record.times.median),
          microseconds(record.times.maximum),
          microseconds(record.select_seconds),
          std::to_string(static_cast<unsigned long long>(record.wire_bytes)) +
              (record.wire_is_model ? "*" : " "),
          entry ? number(*entry) : "-",
          record.floor_seconds ? number(record.times.minimum / *record.floor_seconds) : "-",
          faster ? number(*faster) : "-",
          count_or_na(record.wrong)};
}

void record_header(const Table& table, const Options& o, const Machine& machine, int ranks) {
  const std::string mpi = mpi_version();
  table.comment(o.program + "  sparsecoll " + library_version() +
                (mpi.empty() ? "" : "  (" + mpi + ")"));
  table.comment(counted(ranks, "rank") + transport_text(o.transport) + " on " +
                counted(machine.hosts, "host") + ": " + machine.placement);
  if (o.transport == "simulated") table.comment(describe(o.network));
  if (o.graph) table.comment("calls are launches of a CUDA graph");
  const bool crowded = ranks > machine.cores * machine.hosts;
  table.comment(counted(machine.cores, "core") + " a host" +
                (machine.kind.empty() ? "" : ", " + machine.kind) +
                (crowded ? "; more ranks than cores" : "") + "; " + memory_of(machine));
  std::string data = "data " + data_name(o);
  if (o.data.empty()) {
    data += ", seed " + std::to_string(o.seed) + ", overlap " + number(o.overlap) + ", skew " +
            number(skew_of(o));
  }
  table.comment("form " + o.form + (o.wire == "native" ? "" : "; wire " + o.wire) + "; feedback " +
                (o.feedback ? "1" : "0") + "; " + data);
  const std::string timed = o.tensors.empty() ? "call" : "step";
  table.comment(
      "time of a " + timed + ": " + o.combine + " over ranks, between barriers; " +
      std::to_string(o.iterations) + " " + timed + "s after " + std::to_string(o.warmup) +
      (o.rounds == 1 ? "" : ", " + std::to_string(o.rounds) + " rounds, algorithms by turns"));
  if (machine.gpus > 0) {
    table.comment("a call ends when its stream is done; select: time of the host to queue it");
    if (o.transport == "mpi") table.comment("the baselines of MPI need --memory host: left out");
  }
  // With --tensors the table has other columns.
  if (!o.tensors.empty()) return;
  table.comment("select, wire: of the last call; the slowest rank, and the rank that sent most");
  table.comment("wire (B/rank): bytes sent; * = computed, not counted");
  table.comment("wire (B/entry): over nnz in x (P-1)/P; the papers' bound for plain pairs is 8");
  if (o.form == "dense") {
    table.comment("floor: least time over that of the memory accesses that every call makes");
  }
  const auto measured = [&o](const char* name) {
    return std::ranges::count(o.algorithms, name) > 0;
  };
  if (measured("mpi-dense")) table.comment("faster: median of mpi-dense over median");
  if (measured("mpi-alltoallv")) table.comment("faster: median of mpi-alltoallv over median");
  if (measured("mpi-allgather") && o.form == "dense") {
    table.comment("mpi-allgather: selects with sparsecollTopk; the result sums all selections");
  }
  table.comment("");
}

nlohmann::ordered_json run_json(const Options& o, const Machine& machine, int ranks) {
  Json row;
  row["program"] = o.program;
  row["version"] = library_version();
  row["mpi"] = mpi_version();
  row["host"] = machine.host;
  row["host_kind"] = machine.kind;
  row["cores"] = machine.cores;
  row["hosts"] = machine.hosts;
  row["placement"] = machine.placement;
  row["ranks"] = ranks;
  row["transport"] = o.transport;
  if (o.transport == "simulated") row["network"] = network_json(o.network);
  row["memory"] = o.memory;
  row["cudagraph"] = o.graph;
  if (machine.gpus > 0) {
    row["device"] = machine.gpu;
    row["devices"] = machine.gpus;
  }
  row["datatype"] = o.datatype;
  row["wire"] = o.wire;
  row["feedback"] = o.feedback;
  row["data"] = data_name(o);
  if (o.data.empty()) row["seed"] = o.seed;
  row["iterations"] = o.iterations;
  row["warmup"] = o.warmup;
  if (o.rounds != 1) row["rounds"] = o.rounds;
  row["time_over_ranks"] = o.combine;
  return row;
}

nlohmann::ordered_json record_json(const Record& record, const Options& o, const Machine& machine,
                                   int ranks) {
  Json row = run_json(o, machine, ranks);
  row["form"] = o.form;
  row["op"] = o.op;
  if (o.data.empty()) {
    row["overlap"] = o.overlap;
    row["skew"] = skew_of(o);
  }
  row["algorithm"] = record.algorithm;
  row["algorithm_ran"] = record.ran.empty() ? record.algorithm : record.ran;
  row["bytes"] = record.bytes;
  row["count"] = record.n;
  row["k"] = record.k;
  row["density"] = record.density();
  row["nnz_in"] = record.nnz_in;
  row["nnz_out"] = record.nnz_out;
  row["time_avg_us"] = rounded(record.times.average * 1e6);
  row["time_min_us"] = rounded(record.times.minimum * 1e6);
  row["time_median_us"] = rounded(record.times.median * 1e6);
  row["time_max_us"] = rounded(record.times.maximum * 1e6);
  if (record.floor_seconds) row["floor_us"] = rounded(*record.floor_seconds * 1e6);
  if (record.model_seconds) row["model_us"] = rounded(*record.model_seconds * 1e6);
  row["select_us"] = rounded(record.select_seconds * 1e6);
  row["pack_us"] = rounded(record.pack_seconds * 1e6);
  row["exchange_us"] = rounded(record.exchange_seconds * 1e6);
  row["reduce_us"] = rounded(record.reduce_seconds * 1e6);
  row["wire_bytes"] = record.wire_bytes;
  row["wire_bytes_is_model"] = record.wire_is_model;
  row["messages"] = record.messages;
  row["wire_bytes_per_entry"] = value_or_null(record.wire_bytes_per_entry(ranks));
  row["times_faster_than_dense"] = value_or_null(record.times_faster_than_dense);
  if (o.form == "owners") {
    row["times_faster_than_mpi"] = value_or_null(record.times_faster_than_mpi);
  }
  row["wrong"] = value_or_null(record.wrong);
  return row;
}

}  // namespace sparsecoll::perf
