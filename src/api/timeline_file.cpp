// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/timeline_file.hpp"

#include <exception>

#include "core/error.hpp"

namespace sparsecoll {

TimelineFile::TimelineFile(const std::string& pattern, const Log& log) noexcept
    : pattern_(pattern), log_(log) {
  if (pattern_.empty()) return;
  try {
    timeline_ = std::make_unique<Timeline>();
  } catch (const std::bad_alloc&) {
    warn("out of memory");
  }
}

void TimelineFile::write(const Timeline::Owner& owner) const noexcept {
  if (!timeline_) return;
  try {
    timeline_->write(Timeline::file_name(pattern_, owner), owner);
  } catch (const std::exception& error) {
    warn(error.what());
  }
}

void TimelineFile::warn(const char* why) const noexcept {
  try {
    log_.write(LogLevel::warn, text("SPARSECOLL_TIMELINE: ", why));
  } catch (const std::exception&) {
    // There is no memory for the log's line either. Nothing else can be done.
  }
}

}  // namespace sparsecoll
