// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <memory>
#include <string>

namespace sparsecoll {

enum class LogLevel : int { none = 0, warn = 1, info = 2, trace = 3 };

/// The log of one communicator. Writes lines up to its level; nothing at LogLevel::none.
class Log {
 public:
  Log() = default;
  /// `path`: a regular file or a character device, or empty for standard error; /dev/stderr and
  /// /dev/stdout are the process's own streams, whatever they are. `name` begins every line. Throws
  /// InvalidArgument if the file is of another kind or cannot be opened; never waits for a reader.
  Log(LogLevel level, const std::string& path, std::string name);

  bool wants(LogLevel level) const { return level <= level_; }
  void write(LogLevel level, const std::string& line) const;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  LogLevel level_ = LogLevel::none;
  std::unique_ptr<std::FILE, Close> file_;
  std::FILE* stream_ = stderr;  ///< file_, or a stream of the process
  std::string name_;
};

}  // namespace sparsecoll
