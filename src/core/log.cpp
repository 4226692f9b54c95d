// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/log.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.hpp"

namespace sparsecoll {

Log::Log(LogLevel level, const std::string& path, std::string name)
    : level_(level), name_(std::move(name)) {
  if (level == LogLevel::none || path.empty()) return;
  file_.reset(std::fopen(path.c_str(), "a"));
  if (!file_)
    fail(sparsecollInvalidArgument, "SPARSECOLL_DEBUG_FILE: cannot open '", path,
         "': ", std::strerror(errno));
}

void Log::write(LogLevel level, const std::string& line) const {
  if (!wants(level)) return;
  static constexpr const char* kNames[] = {"", "WARN", "INFO", "TRACE"};
  std::FILE* out = file_ ? file_.get() : stderr;
  // One write for each line, so that lines of several ranks do not mix.
  std::fputs(
      text("sparsecoll ", name_, " ", kNames[static_cast<int>(level)], " ", line, "\n").c_str(),
      out);
  std::fflush(out);
}

}  // namespace sparsecoll
