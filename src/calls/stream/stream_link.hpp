// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_set>

#include "calls/link.hpp"
#include "calls/stream/report_memory.hpp"
#include "calls/stream/stream_call.hpp"
#include "calls/stream/stream_watchdog.hpp"
#include "core/fiber.hpp"
#include "core/machine.hpp"
#include "kernels/device.hpp"
#include "transport/stream_transport.hpp"

namespace sparsecoll {

/// A link in the order of CUDA streams, over NCCL. Its calls return before their messages arrive.
///
/// All ranks compare their arguments in words when a call's shape is new, and in every call when
/// messages are checked. Otherwise a stamp in each message says which call it belongs to.
class StreamLink final : public Link {
 public:
  explicit StreamLink(std::unique_ptr<StreamTransport> transport);
  ~StreamLink() override;

  /// The call in progress: in the body of run() or run_unagreed().
  StreamCall& call() { return *call_; }
  /// Returns the first failure of calls that have returned already, if there is one. Any thread may
  /// call it.
  std::optional<Error> failure() { return watchdog_ ? watchdog_->failure() : std::nullopt; }
  /// The counts of the calls that the device has completed; null before attach().
  const DeviceTotals* totals() const { return report_ ? report_->totals() : nullptr; }

  int rank() const override { return transport_->rank(); }
  int size() const override { return transport_->size(); }
  CpuShare cpu_share() const override {
    return {static_cast<size_t>(size()), static_cast<size_t>(rank())};
  }
  uint64_t node() const override { return node_number(); }
  int world_rank() const override { return rank(); }
  std::optional<int> device() const override { return transport_->device(); }
  LinkKind kind() override { return this; }
  bool keeps_gossip() const override { return false; }
  void check_thread() const override {}  // NCCL takes any thread.
  void check_queue() const override {}

  void open(const LinkResources& resources) override { resources_.emplace(resources); }
  void attach(Device& device) override;
  /// Lets the ranks of each node add vectors among themselves. Collective, outside of calls.
  void join_node(int node, const Deadline& deadline);

  void begin_call(uint64_t sequence) override;
  void end_call() override {}  // The watchdog knows when a call ends.
  void run(const CallParameters& parameters, const CallIdentity& identity,
           FunctionRef<void()> check, FunctionRef<void(AgreedCall&)> body) override;
  void run_group(const CallParameters& parameters, const CallIdentity& identity,
                 FunctionRef<void()> check, std::span<const GroupTask> tasks) override;
  void run_unagreed(const CallParameters& parameters, const Descriptor& descriptor,
                    FunctionRef<void()> body) override;
  std::unique_ptr<Link> split(AgreedCall& call, const SplitArguments& arguments) override;

  void shrink(const ShrinkArguments& arguments, FunctionRef<void(ShrunkLink)> initialize) override;
  std::vector<int> gone() override { return {}; }  // NCCL does not report them.
  uint64_t ended() override { return watchdog_ ? watchdog_->ended() : 0; }

  void flush_gossip(AgreedCall& call) override { call.agree(); }  // No gossip waits at a receiver.
  void open_gossip(AgreedCall& call, uint64_t) override { call.agree(); }
  void close_gossip(uint64_t) noexcept override {}

  bool close_is_collective() const override { return true; }
  void agree_to_close(AgreedCall& call) override { call.agree(); }
  void close(const Deadline& deadline) override;

  void abort() noexcept override;
  bool aborted() const override { return aborted_; }
  AbandonedMemory abandon(const Error* notice) noexcept override;

 private:
  /// Runs `body` as the current call.
  void run_current(StreamCall& call, FunctionRef<void()> body);
  void run_stream(const CallParameters& parameters, const CallIdentity& identity,
                  FunctionRef<void()> check, FunctionRef<void(StreamCall&)> body);
  /// Runs `work`. If the watchdog has interrupted the transport, throws the watchdog's error
  /// instead of the error of `work`, which follows from it.
  void with_first_failure(FunctionRef<void()> work);
  /// Runs a part of shrink() that abort() ends.
  uint64_t while_shrinking(FunctionRef<uint64_t()> work);
  /// Waits for the work of the calls. At the deadline treats it as failed.
  void end_work(const Deadline& deadline);

  std::unique_ptr<StreamTransport> transport_;
  std::optional<LinkResources> resources_;
  Device* device_ = nullptr;
  std::optional<ReportMemory> report_;
  std::optional<StreamWatchdog> watchdog_;
  std::optional<StreamResources> call_resources_;
  bool joined_ = false;  ///< join_node() has returned
  StreamCall* call_ = nullptr;
  uint64_t sequence_ = 0;
  uint64_t number_ = 0;                  ///< number of the last call over this transport
  std::unordered_set<uint64_t> shapes_;  ///< shapes of calls that all ranks have made before
  FiberStacks stacks_;                   ///< the stacks for the verbs of groups
  std::atomic<bool> aborted_{false};
  std::mutex shrinking_mutex_;
  bool shrinking_ = false;       ///< guarded by shrinking_mutex_
  bool shrink_aborted_ = false;  ///< guarded by shrinking_mutex_
  bool closed_ = false;
};

}  // namespace sparsecoll
