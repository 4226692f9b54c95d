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

/// One row: an algorithm on a shape, over all ranks.
struct Record {
  std::string algorithm;  ///< as asked for
  std::string ran;        ///< as it ran; differs under auto
  std::size_t bytes = 0;  ///< of the dense vector
  std::size_t n = 0;
  std::size_t k = 0;
  std::size_t nnz_in = 0;  ///< of the rank with most
  double mean_nnz_in = 0;
  std::size_t nnz_out = 0;
  Times times;
  double select_seconds = 0;  ///< last call, slowest rank; so are the next three
  double pack_seconds = 0;
  double exchange_seconds = 0;
  double reduce_seconds = 0;
  double wire_bytes = 0;                ///< last call, busiest rank
  std::size_t messages = 0;             ///< the same; 0 where they were not counted
  bool wire_is_model = false;           ///< computed, not counted
  std::optional<double> model_seconds;  ///< what Auto's model gives
  std::optional<double> times_faster_than_dense;
  std::optional<double> times_faster_than_mpi;  ///< than mpi-alltoallv
  std::optional<std::size_t> wrong;             ///< on all ranks

  double density() const;
  /// wire_bytes over (entries in)(P - 1)/P: plain pairs of a direct exchange would give 8. Absent
  /// for one rank or no entries.
  std::optional<double> wire_bytes_per_entry(int ranks) const;
};

/// The table's columns and a row's cells.
std::vector<Table::Column> record_columns(const Options& options);
std::vector<std::string> record_cells(const Record& record, const Options& options, int ranks);
/// The lines above the table.
void record_header(const Table& table, const Options& options, const Machine& machine, int ranks);
nlohmann::ordered_json record_json(const Record& record, const Options& options,
                                   const Machine& machine, int ranks);

/// What every row of every program says: program, versions, machine, data, calls. `transport` as
/// in the options.
nlohmann::ordered_json run_json(const Options& options, const Machine& machine, int ranks);

}  // namespace sparsecoll::perf
