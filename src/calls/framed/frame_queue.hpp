// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <utility>

#include "calls/framed/frame.hpp"

namespace sparsecoll {

/// Frames of one sender, in the order in which they arrived. It allocates nothing before its first
/// frame, because a process whose threads are P ranks has 2 P^2 queues.
class FrameQueue {
 public:
  using Iterator = std::deque<Frame>::iterator;

  bool empty() const { return !frames_ || frames_->empty(); }
  size_t size() const { return frames_ ? frames_->size() : 0; }
  Frame& front() { return frames_->front(); }
  Frame& back() { return frames_->back(); }
  void push_back(Frame&& frame) {
    if (!frames_) frames_ = std::make_unique<std::deque<Frame>>();
    frames_->push_back(std::move(frame));
  }
  void pop_front() { frames_->pop_front(); }
  void pop_back() { frames_->pop_back(); }

  Iterator begin() { return frames_ ? frames_->begin() : Iterator(); }
  Iterator end() { return frames_ ? frames_->end() : Iterator(); }
  Iterator erase(Iterator frame) { return frames_->erase(frame); }

 private:
  std::unique_ptr<std::deque<Frame>> frames_;
};

}  // namespace sparsecoll
