// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "transport/transport.hpp"

namespace sparsecoll::unit {

/// Another transport, with a list of how long the messages were that this rank sent.
class RecordingTransport final : public Transport {
 public:
  RecordingTransport(std::unique_ptr<Transport> below, std::vector<size_t>& sizes)
      : below_(std::move(below)), sizes_(sizes) {}

  int rank() const override { return below_->rank(); }
  int size() const override { return below_->size(); }
  void check_thread() const override { below_->check_thread(); }
  void check_queue() const override { below_->check_queue(); }
  void send(int peer, ConstBytes bytes) override {
    sizes_.push_back(bytes.size());
    below_->send(peer, bytes);
  }
  void hand_over(int peer, Buffer message) override {
    sizes_.push_back(message.size());
    below_->hand_over(peer, std::move(message));
  }
  size_t unsent() override { return below_->unsent(); }
  size_t unsent_handed_over() override { return below_->unsent_handed_over(); }
  std::optional<Arrived> poll() override { return below_->poll(); }
  bool gone(int peer) const override { return below_->gone(peer); }
  void idle(Clock::time_point limit) override { below_->idle(limit); }
  void interrupt() noexcept override { below_->interrupt(); }
  uint64_t next_address() override { return below_->next_address(); }
  std::unique_ptr<Transport> split(std::span<const Member> members, uint64_t id) override {
    return below_->split(members, id);
  }
  bool closes_together() const override { return below_->closes_together(); }
  void close() override { below_->close(); }
  size_t abandon(bool* touches_caller) noexcept override { return below_->abandon(touches_caller); }
  Pool& pool() override { return below_->pool(); }
  const Memory& memory() const override { return below_->memory(); }

 private:
  std::unique_ptr<Transport> below_;
  std::vector<size_t>& sizes_;
};

}  // namespace sparsecoll::unit
