// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "core/log.hpp"
#include "core/timeline.hpp"

namespace sparsecoll {

/// The timeline of a communicator, for which SPARSECOLL_TIMELINE asks, and the file that it is
/// written to. Failures are logged as warnings and change nothing else.
class TimelineFile {
 public:
  /// `pattern`: name of the file as Timeline::file_name() takes it; empty: there is no timeline.
  /// `log` outlives this object.
  TimelineFile(const std::string& pattern, const Log& log) noexcept;

  /// Returns the timeline to record in; null if there is none.
  Timeline* timeline() const { return timeline_.get(); }
  /// Writes the file, if there is a timeline.
  void write(const Timeline::Owner& owner) const noexcept;

 private:
  void warn(const char* why) const noexcept;

  const std::string& pattern_;
  const Log& log_;
  std::unique_ptr<Timeline> timeline_;
};

}  // namespace sparsecoll
