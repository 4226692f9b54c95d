// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "block_threads.hpp"

#include <unistd.h>

#include <thread>

namespace simt {

BlockThreads& BlockThreads::of_process() {
  static BlockThreads* own = nullptr;  // threads may wait on it after main
  if (!own || own->process_ != getpid()) own = new BlockThreads;
  return *own;
}

BlockThreads::BlockThreads() : process_(getpid()) {}

void BlockThreads::run(unsigned threads, const std::function<void()>& work) {
  const unsigned others = threads - 1;
  if (others > 0) {
    const std::lock_guard lock(mutex_);
    for (; started_ < others; ++started_) std::thread([this] { serve(); }).detach();
    work_ = &work;
    waiting_ = unfinished_ = others;
    for (unsigned i = 0; i < others; ++i) begun_.notify_one();
  }
  work();
  if (others == 0) return;
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [this] { return unfinished_ == 0; });
}

void BlockThreads::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    begun_.wait(lock, [this] { return waiting_ > 0; });
    --waiting_;
    const std::function<void()>& work = *work_;
    lock.unlock();
    work();
    lock.lock();
    if (--unfinished_ == 0) finished_.notify_one();
  }
}

}  // namespace simt
