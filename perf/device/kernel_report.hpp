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

/// The GPU and its software.
struct Gpu {
  std::string name;
  std::string capability;  ///< "9.0"
  int multiprocessors = 0;
  size_t memory = 0;  ///< bytes
  size_t cache = 0;   ///< bytes
  int driver = 0;     ///< newest CUDA that the driver supports: 13000 is 13.0
  int runtime = 0;
};

/// A baseline that is measured with a kernel, and its column.
struct Column {
  std::string title;        ///< title in the table
  std::string key;          ///< key in the JSON
  std::string description;  ///< line in the header of the table
};

/// The measurement of one shape.
struct Row {
  size_t count = 0;
  size_t k = 0;
  std::string input;                  ///< select: kind of data
  bool feedback = false;              ///< select
  int kernel_ranks = 0;               ///< merge: inputs; pack, unpack: messages
  std::optional<size_t> output_size;  ///< entries of the sum, or bytes of all messages
  double bytes = 0;                   ///< least number of bytes to read and write
  Times times;
  std::vector<std::optional<Times>> baselines;  ///< by column; absent: not measured
  std::optional<size_t> wrong;                  ///< absent: not checked
};

/// Writes the table and the JSON of one run.
class KernelReport {
 public:
  KernelReport(const Options& options, Gpu gpu, Machine machine);
  void header() const;
  void write(const Row& row);
  /// Prints a comment line between the rows.
  void note(const std::string& text) const { table_.comment(text); }
  /// Prints the last lines; returns the exit status.
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
