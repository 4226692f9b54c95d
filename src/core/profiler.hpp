// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sparsecoll {

/// The functions by which a profiler learns what this process does. Ranges may overlap.
struct Profiler {
  uint64_t (*begin)(const char* name);  ///< returns the range's number
  void (*end)(uint64_t range);
};

/// Shows a profiler a range that lasts until the end of its scope.
class ProfilerRange {
 public:
  /// Shows nothing if `profiler` is null.
  ProfilerRange(const Profiler* profiler, const char* name)
      : profiler_(profiler), range_(profiler ? profiler->begin(name) : 0) {}
  ~ProfilerRange() {
    if (profiler_) profiler_->end(range_);
  }
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;

 private:
  const Profiler* profiler_;
  uint64_t range_;
};

}  // namespace sparsecoll
