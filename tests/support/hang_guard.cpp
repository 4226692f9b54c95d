// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "support/hang_guard.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace sparsecoll::test {

void end_hung_process(const std::string& what, std::chrono::milliseconds limit,
                      const std::vector<bool>& inside) {
  std::string ranks;
  for (std::size_t rank = 0; rank < inside.size(); ++rank)
    if (inside[rank]) ranks.append(" ").append(std::to_string(rank));
  std::fprintf(stderr, "hang guard: %s: after %lld ms ranks still inside:%s\n", what.c_str(),
               static_cast<long long>(limit.count()), ranks.c_str());
  std::fflush(stderr);
  std::abort();
}

HangGuard::HangGuard(std::string what, int ranks, std::chrono::milliseconds limit)
    : what_(std::move(what)), inside_(static_cast<std::size_t>(ranks)) {
  for (std::atomic<bool>& inside : inside_) inside = true;
  watcher_ = std::thread([this, limit] { watch(limit); });
}

HangGuard::~HangGuard() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  over_changed_.notify_all();
  watcher_.join();
}

void HangGuard::watch(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  if (over_changed_.wait_for(lock, limit, [this] { return over_; })) return;
  end_hung_process(what_, limit, {inside_.begin(), inside_.end()});
}

}  // namespace sparsecoll::test
