// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/report.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace sparsecoll::perf {

Table::Table(std::vector<Column> columns, bool silent)
    : columns_(std::move(columns)), silent_(silent) {}

std::string Table::line(const std::vector<std::string>& cells) const {
  std::string text;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const auto width = static_cast<std::size_t>(columns_[c].width);
    text += ' ';
    if (cells[c].size() < width) text.append(width - cells[c].size(), ' ');
    text += cells[c];
  }
  return text;
}

void Table::comment(const std::string& text) const {
  if (!silent_) std::printf(text.empty() ? "#\n" : "# %s\n", text.c_str());
}

void Table::titles() const {
  if (silent_) return;
  std::vector<std::string> titles;
  std::vector<std::string> units;
  for (const Column& column : columns_) {
    titles.push_back(column.title);
    units.push_back(column.unit);
  }
  std::printf("#%s\n#%s\n", line(titles).substr(1).c_str(), line(units).substr(1).c_str());
  std::fflush(stdout);
}

void Table::row(const std::vector<std::string>& cells) const {
  if (silent_) return;
  std::printf("%s\n", line(cells).c_str());
  std::fflush(stdout);
}

std::string number(double value) {
  const double size = std::abs(value);
  const int decimals = size >= 100 || size == 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", decimals, value);
  return text;
}

std::string microseconds(double seconds) { return number(seconds * 1e6); }

std::string count_or_na(const std::optional<std::size_t>& value) {
  return value ? std::to_string(*value) : "N/A";
}

JsonFile::JsonFile(const std::string& name) : name_(name) {
  if (name.empty()) return;
  file_.open(name);
  if (!file_) throw std::runtime_error("-J: cannot write " + name);
}

void JsonFile::write(const nlohmann::ordered_json& row) {
  if (name_.empty()) return;
  file_ << row.dump() << '\n' << std::flush;
  if (!file_) throw std::runtime_error("-J: cannot write " + name_);
}

Progress::Progress(bool wanted, bool silent)
    : active_(!silent && (wanted || isatty(STDERR_FILENO) == 1)) {}

Progress::~Progress() { clear(); }

void Progress::show(const std::string& text) {
  if (!active_) return;
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (!shown_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

int conclude(const Table& table, const std::optional<std::size_t>& wrong) {
  table.comment("");
  if (!wrong) {
    table.comment("Wrong results : N/A (not checked)");
  } else {
    table.comment("Wrong results : " + std::to_string(*wrong) + (*wrong == 0 ? " OK" : " FAILED"));
  }
  return wrong.value_or(0) == 0 ? 0 : 1;
}

}  // namespace sparsecoll::perf
