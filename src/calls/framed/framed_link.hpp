// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "calls/framed/channel.hpp"
#include "calls/framed/framed_call.hpp"
#include "calls/framed/shrink.hpp"
#include "calls/link.hpp"
#include "core/fiber.hpp"
#include "transport/transport.hpp"

namespace sparsecoll {

/// A link over messages that the host waits for: between processes by MPI, or between threads.
class FramedLink final : public Link {
 public:
  explicit FramedLink(std::unique_ptr<Transport> transport);

  /// The channel of all calls. Exists after open().
  Channel& channel() { return *channel_; }

  int rank() const override { return transport_->rank(); }
  int size() const override { return transport_->size(); }
  CpuShare cpu_share() const override { return transport_->cpu_share(); }
  uint64_t node() const override { return transport_->node(); }
  int world_rank() const override { return transport_->world_rank(); }
  std::optional<int> device() const override { return {}; }
  LinkKind kind() override { return this; }
  bool keeps_gossip() const override { return true; }
  void check_thread() const override { transport_->check_thread(); }
  void check_queue() const override { transport_->check_queue(); }

  void open(const LinkResources& resources) override;
  /// Makes long messages arrive in page-locked memory, from which the device copies them while
  /// others arrive.
  void attach(Device& device) override;

  void begin_call(uint64_t sequence) override { channel_->begin(sequence); }
  void end_call() override { channel_->end(); }
  void run(const CallParameters& parameters, const CallIdentity& identity,
           FunctionRef<void()> check, FunctionRef<void(AgreedCall&)> body) override;
  void run_group(const CallParameters& parameters, const CallIdentity& identity,
                 FunctionRef<void()> check, std::span<const GroupTask> tasks) override;
  void run_unagreed(const CallParameters& parameters, const Descriptor& descriptor,
                    FunctionRef<void()> body) override;
  std::unique_ptr<Link> split(AgreedCall& call, const SplitArguments& arguments) override;

  void shrink(const ShrinkArguments& arguments, FunctionRef<void(ShrunkLink)> initialize) override;
  std::vector<int> gone() override;
  uint64_t ended() override { return ~uint64_t{0}; }

  void flush_gossip(AgreedCall& call) override;
  void open_gossip(AgreedCall& call, uint64_t state) override;
  void close_gossip(uint64_t state) noexcept override { channel_->close(state); }

  bool close_is_collective() const override { return transport_->close_is_collective(); }
  void agree_to_close(AgreedCall& call) override;
  void close(const Deadline&) override { transport_->close(); }

  void abort() noexcept override;
  bool aborted() const override { return channel_->aborted(); }
  AbandonedMemory abandon(const Error* notice) noexcept override;

 private:
  void run_framed(const CallParameters& parameters, const CallIdentity& identity,
                  FunctionRef<void()> check, FunctionRef<void(FramedCall&)> body);

  /// Returns the recovery, which the first call makes; null if the transport has none.
  Recovery* recovery();

  std::unique_ptr<Transport> transport_;
  std::optional<Channel> channel_;  ///< exists after open()
  Memory* memory_ = nullptr;
  Arena* arena_ = nullptr;
  FiberStacks stacks_;  ///< the stacks for the verbs of groups
  std::mutex recovery_mutex_;
  std::unique_ptr<Recovery> recovery_;  ///< set under recovery_mutex_
};

}  // namespace sparsecoll
