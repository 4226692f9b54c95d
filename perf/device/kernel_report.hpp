// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/machine.hpp"
#include "common/options.hpp"
#include "common/report.hpp"
#include "common/timing.hpp"

namespace sparsecoll::perf::device {

/// The GPU and what drives it.
struct Gpu {
  std::string name;
  std::string capability;  ///< "9.0"
  int multiprocessors = 0;
  size_t memory = 0;  ///< bytes
  size_t cache = 0;   ///< bytes
  int driver = 0;     ///< newest CUDA it knows: 13000 is 13.0
  int runtime = 0;
};

/// What is measured beside a kernel, in the order of the columns.
struct Column {
  std::string title;  ///< of the table
  std::string key;    ///< of the JSON
  std::string what;   ///< one line for the header
};

struct Row {
  size_t count = 0;
  size_t k = 0;
  std::string input;                  ///< selection: kind of data
  bool feedback = false;              ///< selection
  int kernel_ranks = 0;               ///< the others: pieces, or messages
  std::optional<size_t> output_size;  ///< the others: entries of the sum, or bytes of the messages
  double bytes = 0;                   ///< that have to be read and written at least
  Times times;
  std::vector<std::optional<Times>> baselines;  ///< one for each column; absent: not measured
  std::optional<size_t> wrong;                  ///< absent: not checked
};

/// Table and JSON of one run.
class KernelReport {
 public:
  KernelReport(const Options& options, Gpu gpu, Machine machine);
  void header() const;
  void write(const Row& row);
  /// A line of the table that is no row.
  void note(const std::string& text) const { table_.comment(text); }
  /// The closing lines; returns the exit status.
  int conclude() const;

 private:
  std::vector<Table::Column> table_columns() const;
  bool selects() const { return options_.kernel == "select"; }
  void write_json(const Row& row);

  const Options& options_;
  const Gpu gpu_;
  const Machine machine_;
  const std::vector<Column> columns_;
  const Table table_;
  JsonFile json_;
  std::optional<size_t> wrong_;  ///< absent: nothing was checked yet
};

}  // namespace sparsecoll::perf::device
