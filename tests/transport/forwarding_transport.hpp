// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "transport/transport.hpp"

namespace sparsecoll::unit {

/// Wraps a transport and passes every call on. Subclasses change some of them.
class ForwardingTransport : public Transport {
 public:
  explicit ForwardingTransport(std::unique_ptr<Transport> below) : below_(std::move(below)) {}

  int rank() const override { return below_->rank(); }
  int size() const override { return below_->size(); }
  void check_thread() const override { below_->check_thread(); }
  void check_queue() const override { below_->check_queue(); }
  void send(int peer, ConstBytes bytes) override { below_->send(peer, bytes); }
  void open(int peer, const MessageLength& length) override { below_->open(peer, length); }
  void send_chunk(int peer, ConstBytes chunk) override { below_->send_chunk(peer, chunk); }
  void hand_over(int peer, Buffer message) override { below_->hand_over(peer, std::move(message)); }
  size_t unsent() override { return below_->unsent(); }
  size_t unsent_handed_over() override { return below_->unsent_handed_over(); }
  size_t unsent_to(int peer) override { return below_->unsent_to(peer); }
  size_t waiting_for(int peer) const override { return below_->waiting_for(peer); }
  std::optional<ReceivedMessage> poll() override { return below_->poll(); }
  bool gone(int peer) const override { return below_->gone(peer); }
  void idle(Clock::time_point limit) override { below_->idle(limit); }
  void interrupt() noexcept override { below_->interrupt(); }
  uint64_t next_address() override { return below_->next_address(); }
  std::unique_ptr<Transport> split(std::span<const RankAddress> members, uint64_t id) override {
    return below_->split(members, id);
  }
  bool close_is_collective() const override { return below_->close_is_collective(); }
  void close() override { below_->close(); }
  size_t abandon(bool* touches_caller) noexcept override { return below_->abandon(touches_caller); }
  Pool& pool() override { return below_->pool(); }
  const Memory& memory() const override { return below_->memory(); }

 private:
  std::unique_ptr<Transport> below_;
};

}  // namespace sparsecoll::unit
