// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <memory>
#include <string>

namespace sparsecoll {

enum class LogLevel : int { none = 0, warn = 1, info = 2, trace = 3 };

/// What one communicator says when SPARSECOLL_DEBUG asks for it; silent otherwise.
class Log {
 public:
  Log() = default;
  /// An empty path means standard error. Throws Error(sparsecollInvalidArgument) when the file
  /// cannot be opened. `name` stands in front of every line.
  Log(LogLevel level, const std::string& path, std::string name);

  bool wants(LogLevel level) const { return level <= level_; }
  void write(LogLevel level, const std::string& line) const;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  LogLevel level_ = LogLevel::none;
  std::unique_ptr<std::FILE, Close> file_;
  std::string name_;
};

}  // namespace sparsecoll
