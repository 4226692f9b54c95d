// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

#include "cuda_runtime.h"

namespace simt {

/// The barrier of the blocks of a cooperative launch. Ends the program if a block waits for one
/// that has ended.
class GridBarrier {
 public:
  explicit GridBarrier(unsigned blocks) : blocks_(blocks) {}
  void wait();
  /// Records that a block has ended.
  void leave();

 private:
  void check() const;

  const unsigned blocks_;
  unsigned waiting_ = 0;
  unsigned ended_ = 0;
  unsigned generation_ = 0;
  std::mutex mutex_;
  std::condition_variable all_came_;
};

/// One block of threads. It runs on the thread that calls run().
class Block {
 public:
  /// `barrier`: that of a cooperative launch; null otherwise.
  Block(const dim3& grid, const dim3& block, GridBarrier* barrier);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// Runs block number `index` of a grid.
  void run(const std::function<void()>& body, unsigned index, uint64_t seed);

  // Properties of the lane that runs now.
  const uint64_t* exchange(Operation operation, uint64_t value);
  void wait_for_block() { wait(Wait::block); }
  void wait_for_grid();

 private:
  struct Lane {
    jmp_buf at;
    bool begun = false;
    bool ended = false;
    Wait waits = Wait::none;
  };
  struct Warp {
    uint64_t value[2][32];
    unsigned exchanges[32] = {};
    Operation operation[32];
    unsigned arrived = 0;
  };

  static void enter();
  [[noreturn]] static void run_lane();
  void resume(unsigned thread);
  void wait(Wait what);
  bool release();
  [[noreturn]] void stuck() const;

  const dim3 grid_, block_;
  const unsigned threads_;
  GridBarrier* const barrier_;
  char* stacks_;
  std::vector<Lane> lanes_;
  std::vector<void*> fibers_;  ///< the lanes as a thread sanitizer sees them
  void* scheduler_fiber_ = nullptr;
  std::vector<Warp> warps_;
  const std::function<void()>* body_ = nullptr;
  unsigned running_ = 0;
  jmp_buf scheduler_;
};

}  // namespace simt
