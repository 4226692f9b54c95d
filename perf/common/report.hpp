// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <fstream>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace sparsecoll::perf {

/// A table in nccl-tests' manner on stdout: comment lines, two lines of titles, rows.
class Table {
 public:
  struct Column {
    std::string title;
    std::string unit;
    int width;
  };
  /// A silent table (ranks other than 0) takes everything and prints nothing.
  Table(std::vector<Column> columns, bool silent);
  void comment(const std::string& text) const;
  void titles() const;
  void row(const std::vector<std::string>& cells) const;

 private:
  std::string line(const std::vector<std::string>& cells) const;
  std::vector<Column> columns_;
  bool silent_;
};

/// Three significant digits or more, no exponent.
std::string number(double value);
/// A time in microseconds from seconds.
std::string microseconds(double seconds);
/// nccl-tests writes N/A where nothing was checked; so do we for all that is absent.
std::string count_or_na(const std::optional<std::size_t>& value);

/// Rows as JSON, one object per line; with an empty name it takes them and writes nothing.
class JsonFile {
 public:
  /// Throws when the file cannot be written.
  explicit JsonFile(const std::string& name);
  void write(const nlohmann::ordered_json& row);

 private:
  std::string name_;
  std::ofstream file_;
};

/// "shape 3 of 12: oktopk" on one line of stderr that is rewritten; gone at the end.
class Progress {
 public:
  /// Shows nothing unless `wanted` or stderr is a terminal; never on a silent rank.
  Progress(bool wanted, bool silent);
  ~Progress();
  void show(const std::string& text);
  void clear();

 private:
  bool active_;
  bool shown_ = false;
};

/// The closing lines; `wrong` is that of all ranks. Returns the program's exit status.
int conclude(const Table& table, const std::optional<std::size_t>& wrong);

}  // namespace sparsecoll::perf
