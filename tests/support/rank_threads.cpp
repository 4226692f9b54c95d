// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "support/rank_threads.hpp"

#include <exception>
#include <stdexcept>
#include <utility>

namespace sparsecoll::test {

RankThreads::RankThreads(int ranks, std::chrono::milliseconds limit)
    : limit_(limit),
      inside_(static_cast<std::size_t>(ranks)),
      verdicts_(static_cast<std::size_t>(ranks)) {
  // A vector that grows frees its old memory after the last thread has begun. A test that counts
  // what is on the heap must not see that.
  threads_.reserve(verdicts_.size());
  for (std::size_t rank = 0; rank < verdicts_.size(); ++rank)
    threads_.emplace_back([this, rank] { serve(rank); });
}

RankThreads::~RankThreads() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  begun_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::string RankThreads::run(const std::string& what, const std::function<std::string(int)>& body) {
  std::unique_lock lock(mutex_);
  if (unfinished_ > 0) throw std::logic_error("RankThreads: a run in a run");
  body_ = &body;
  inside_.assign(inside_.size(), true);
  unfinished_ = inside_.size();
  ++runs_;
  begun_.notify_all();
  if (!finished_.wait_for(lock, limit_, [this] { return unfinished_ == 0; }))
    end_hung_process(what, limit_, inside_);
  std::string all;
  for (std::size_t rank = 0; rank < verdicts_.size(); ++rank) {
    if (!verdicts_[rank].empty()) {
      all += "\n  " + what + "\n    rank " + std::to_string(rank) + ": " + verdicts_[rank];
    }
  }
  return all;
}

void RankThreads::serve(std::size_t rank) {
  std::unique_lock lock(mutex_);
  for (std::uint64_t runs = 0;;) {
    begun_.wait(lock, [&] { return over_ || runs_ != runs; });
    if (over_) return;
    runs = runs_;
    lock.unlock();
    std::string verdict;
    try {
      verdict = (*body_)(static_cast<int>(rank));
    } catch (const std::exception& error) {
      verdict = std::string("exception: ") + error.what();
    }
    lock.lock();
    verdicts_[rank] = std::move(verdict);
    inside_[rank] = false;
    if (--unfinished_ == 0) finished_.notify_all();
  }
}

}  // namespace sparsecoll::test
