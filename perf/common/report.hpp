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

/// A table on stdout in the style of nccl-tests: comment lines, two lines of titles, rows.
class Table {
 public:
  struct Column {
    std::string title;
    std::string unit;
    int width;
  };
  /// A silent table prints nothing. Ranks other than 0 have silent ones.
  Table(std::vector<Column> columns, bool silent);
  void comment(const std::string& text) const;
  void titles() const;
  void row(const std::vector<std::string>& cells) const;

 private:
  std::string line(const std::vector<std::string>& cells) const;
  std::vector<Column> columns_;
  bool silent_;
};

/// Formats with three significant digits or more, without an exponent.
std::string number(double value);
/// Formats a time given in seconds as a number of microseconds.
std::string microseconds(double seconds);
/// Formats a count; "N/A" if it is absent, as in nccl-tests.
std::string count_or_na(const std::optional<std::size_t>& value);

/// A file of JSON rows, one object per line. With an empty name, nothing is written.
class JsonFile {
 public:
  /// Throws std::runtime_error if the file cannot be written.
  explicit JsonFile(const std::string& name);
  void write(const nlohmann::ordered_json& row);

 private:
  std::string name_;
  std::ofstream file_;
};

/// A progress line on stderr, such as "size 3 of 12, k = 100: oktopk". Each call rewrites it; the
/// destructor clears it.
class Progress {
 public:
  /// Shows the line if `wanted` or if stderr is a terminal, but never on a silent rank.
  Progress(bool wanted, bool silent);
  ~Progress();
  void show(const std::string& text);
  void clear();

 private:
  bool active_;
  bool shown_ = false;
};

/// Prints the last lines of the table. `wrong` is the number of wrong values of all ranks, or
/// nothing if results were not checked. Returns the program's exit status.
int conclude(const Table& table, const std::optional<std::size_t>& wrong);

}  // namespace sparsecoll::perf
