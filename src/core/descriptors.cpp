// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/descriptors.hpp"

#include <sys/resource.h>

#include <atomic>
#include <filesystem>
#include <limits>
#include <system_error>

#include "core/error.hpp"

namespace sparsecoll {

namespace {

std::atomic<size_t> needed{0};

/// Returns how many descriptors this process can still open; the largest number if the system does
/// not report it.
size_t room_for_descriptors() {
  constexpr size_t kUnknown = std::numeric_limits<size_t>::max();
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnknown;
  std::error_code error;
  size_t open = 0;
  std::filesystem::directory_iterator each("/proc/self/fd", error);
  if (error == std::errc::too_many_files_open) return 0;
  for (; !error && each != std::filesystem::directory_iterator(); each.increment(error)) ++open;
  if (error) return kUnknown;
  --open;  // the descriptor of the folder itself
  return limit.rlim_cur > open ? limit.rlim_cur - open : 0;
}

}  // namespace

DescriptorsNeeded::DescriptorsNeeded(size_t count, const char* user) : count_(count) {
  const size_t all = needed += count_;
  const size_t room = room_for_descriptors();
  if (all <= room) return;
  needed -= count_;
  fail(sparsecollSystemError, user, " needs ", all, " file descriptors, this process can open ",
       room, "; raise the limit (ulimit -n)");
}

DescriptorsNeeded::~DescriptorsNeeded() { needed -= count_; }

}  // namespace sparsecoll
