// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>

#include "core/stats.hpp"

namespace sparsecoll {

class StreamLink;

/// The statistics of a communicator: of its last verb, and the sum over all of its verbs. Any
/// thread may call any method.
class Statistics {
 public:
  /// `stream_link` knows the counts that only its device has. It outlives this object. It is null
  /// if the host has all counts.
  explicit Statistics(const StreamLink* stream_link) : stream_link_(stream_link) {}

  /// Adds the statistics of a call that has ended.
  void add(const Stats& call);
  /// Sets all statistics to 0.
  void reset();
  Stats last() const;
  Stats total() const;

  /// Counts memory that the communicator gave up for good when its link broke.
  void add_abandoned(size_t bytes) { abandoned_bytes_ += bytes; }
  size_t abandoned_bytes() const { return abandoned_bytes_; }

 private:
  const StreamLink* const stream_link_;
  mutable std::mutex mutex_;
  Stats last_;   ///< guarded by mutex_
  Stats total_;  ///< guarded by mutex_
  std::atomic<size_t> abandoned_bytes_{0};
};

}  // namespace sparsecoll
