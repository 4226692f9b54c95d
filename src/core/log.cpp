// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/log.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.hpp"
#include "core/file.hpp"

namespace sparsecoll {

namespace {

/// Returns the stream of the process that has this name; null for any other file.
std::FILE* standard_stream(const std::string& path) {
  return path == "/dev/stderr" ? stderr : path == "/dev/stdout" ? stdout : nullptr;
}

}  // namespace

Log::Log(LogLevel level, const std::string& path, std::string name)
    : level_(level), name_(std::move(name)) {
  if (level == LogLevel::none || path.empty()) return;
  stream_ = standard_stream(path);
  if (stream_) return;
  OpenFile file = open_for_lines("SPARSECOLL_DEBUG_FILE", path);
  file_.reset(::fdopen(file.number(), "a"));
  if (!file_) fail(sparsecollSystemError, "SPARSECOLL_DEBUG_FILE: ", std::strerror(errno));
  stream_ = file_.get();
  static_cast<void>(file.release());  // file_ owns the descriptor now
}

void Log::write(LogLevel level, const std::string& line) const {
  if (!wants(level)) return;
  static constexpr const char* kNames[] = {"", "WARN", "INFO", "TRACE"};
  // One write for each line, so that lines of several ranks do not mix.
  std::fputs(
      text("sparsecoll ", name_, " ", kNames[static_cast<int>(level)], " ", line, "\n").c_str(),
      stream_);
  std::fflush(stream_);
}

}  // namespace sparsecoll
