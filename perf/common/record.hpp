// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/machine.hpp"
#include "common/options.hpp"
#include "common/report.hpp"
#include "common/timing.hpp"

namespace sparsecoll::perf {

/// One row of the table: the measurement of an algorithm on a shape, over all ranks.
struct Record {
  std::string algorithm;  ///< the value of --algo
  std::string ran;        ///< the algorithm that ran; another one if `algorithm` is auto
  std::size_t bytes = 0;  ///< size of the dense vector
  std::size_t n = 0;
  std::size_t k = 0;
  std::size_t nnz_in = 0;  ///< largest number of entries of a rank
  double mean_nnz_in = 0;
  std::size_t nnz_out = 0;
  Times times;
  double select_seconds = 0;  ///< this and the next three are of the last call, on the slowest rank
  double pack_seconds = 0;
  double exchange_seconds = 0;
  double reduce_seconds = 0;
  double wire_bytes = 0;       ///< bytes sent in the last call by the rank that sent most
  std::size_t messages = 0;    ///< messages sent by the rank that sent most; 0: not counted
  bool wire_is_model = false;  ///< wire_bytes is computed, not counted
  std::optional<double> floor_seconds;  ///< least time of the memory accesses (floor.hpp)
  std::optional<double> model_seconds;  ///< prediction of Auto's cost model
  std::optional<double> times_faster_than_dense;
  std::optional<double> times_faster_than_mpi;  ///< baseline mpi-alltoallv
  std::optional<std::size_t> wrong;             ///< sum over all ranks

  double density() const;
  /// Returns wire_bytes over (mean_nnz_in)(P - 1)/P: the bytes for each sent entry. A direct
  /// exchange of 4-byte indices and 4-byte values gives 8. Returns nothing for one rank or without
  /// entries.
  std::optional<double> wire_bytes_per_entry(int ranks) const;
};

/// Returns the columns of the table, and the cells of a row.
std::vector<Table::Column> record_columns(const Options& options);
std::vector<std::string> record_cells(const Record& record, const Options& options, int ranks);
/// Prints the lines above the table.
void record_header(const Table& table, const Options& options, const Machine& machine, int ranks);
nlohmann::ordered_json record_json(const Record& record, const Options& options,
                                   const Machine& machine, int ranks);

/// Returns what every JSON row of every program contains: program, versions, machine, data, calls.
nlohmann::ordered_json run_json(const Options& options, const Machine& machine, int ranks);

}  // namespace sparsecoll::perf
