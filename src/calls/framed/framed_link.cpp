// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// The connection over messages that can be waited for.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "calls/barrier.hpp"
#include "calls/framed/framed_call.hpp"
#include "calls/framed/framed_group.hpp"
#include "calls/link.hpp"
#include "collectives/algorithm.hpp"

namespace sparsecoll {

namespace {

/// What each rank tells the others before a split.
struct Wish {
  SplitWish wish;
  uint64_t address;  ///< of this rank in its part
};

/// The wishes of all ranks, by rank.
std::vector<Wish> gather_wishes(AgreedCall& call, Arena& arena, const Wish& own) {
  Kernels& kernels = make_plain_kernels(DataType::float32, IndexType::index32, arena);
  Env env{call, kernels, arena, call.stats(), kernels.counts(1)};
  std::vector<Wish> wishes;
  const Gathered message{std::as_bytes(std::span(&own, 1))};
  for (const Gathered& each : allgather_messages(env, message, sizeof(Wish))) {
    if (each.message.size() != sizeof(Wish))
      fail(sparsecollRemoteError,
           "a message was malformed: expected a color, a key and an address");
    std::memcpy(&wishes.emplace_back(), each.message.data(), sizeof(Wish));
  }
  return wishes;
}

/// The ranks of one color, in the order that they will have: by key, then by rank.
std::vector<RankAddress> members_of(int color, const std::vector<Wish>& wishes) {
  std::vector<RankAddress> members;
  if (color == SPARSECOLL_SPLIT_NOCOLOR) return members;
  for (size_t r = 0; r < wishes.size(); ++r)
    if (wishes[r].wish.color == color) members.push_back({static_cast<int>(r), wishes[r].address});
  std::ranges::stable_sort(members, {}, [&](const RankAddress& each) {
    return wishes[static_cast<size_t>(each.rank)].wish.key;
  });
  return members;
}

class FramedLink final : public Link {
 public:
  explicit FramedLink(std::unique_ptr<Transport> transport) : transport_(std::move(transport)) {}

  int rank() const override { return transport_->rank(); }
  int size() const override { return transport_->size(); }
  int neighbours() const override { return transport_->ranks_sharing_cpus(); }
  uint64_t node() const override { return transport_->node(); }
  void check_thread() const override { transport_->check_thread(); }
  void check_queue() const override { transport_->check_queue(); }
  void open(const LinkResources& owner) override {
    arena_ = &owner.arena;
    timeout_ms_ = owner.timeout_ms;
    channel_.emplace(*transport_, owner.memory, owner.verify);
    if (owner.timeline) channel_->record_in(*owner.timeline);
  }

  void begin(uint64_t sequence) override { channel_->begin(sequence); }
  void end() override { channel_->end(); }
  void make(const CallParameters& terms, const Agreed& agreed, FunctionRef<void()> check,
            FunctionRef<void(AgreedCall&)> body) override {
    FramedCall call(*channel_, {agreed.descriptor, terms.sequence, terms.deadline, agreed.members},
                    *arena_, terms.stats);
    try {
      check();
    } catch (const Error& error) {
      if (!fatal(error.code())) call.abandon(&error);
      throw;
    }
    try {
      body(call);
    } catch (const Abandoned&) {
      call.abandon(nullptr);
    }
  }
  void make_alone(const CallParameters&, const Descriptor&,
                  FunctionRef<void(StreamCall&)>) override {
    fail(sparsecollInternalError, "messages that can be waited for are in no stream's order");
  }
  void run_group(AgreedCall& call, std::span<const GroupTask> members) override {
    FramedGroup(static_cast<FramedCall&>(call), *arena_, stacks_, members).run();
  }

  std::unique_ptr<Link> split(AgreedCall& call, const SplitWish& wish) override {
    const std::vector<Wish> wishes =
        gather_wishes(call, *arena_, {wish, transport_->next_address()});
    call.confirm();
    auto part = transport_->split(members_of(wish.color, wishes), call.sequence());
    return part ? make_framed_link(std::move(part)) : nullptr;
  }
  bool close_is_collective() const override { return transport_->close_is_collective(); }
  void leave(AgreedCall& call) override {
    if (!channel_->gossiped()) return call.agree();
    // Gossip may be under way: nobody leaves before all of it has arrived.
    barrier(call, *arena_);
    call.confirm();
    channel_->flush_handed_over(Deadline::after(timeout_ms_));
  }
  void close() override { transport_->close(); }

  void abort() noexcept override { channel_->abort(); }
  bool aborted() const override { return channel_->aborted(); }
  AbandonedMemory abandon(const Error* notice) noexcept override {
    AbandonedMemory all{0, true};  // of the call's messages some have not left
    try {
      all.touches_workspace = transport_->unsent() > 0;
    } catch (const Error&) {
      // A transport that cannot say may still touch them.
    }
    if (notice) channel_->send_fatal(*notice);
    bool touches_notices = false;
    all.bytes = transport_->abandon(&touches_notices);
    if (touches_notices) all.bytes += channel_->leak();
    return all;
  }

  Channel* channel() override { return &*channel_; }

 private:
  std::unique_ptr<Transport> transport_;
  std::optional<Channel> channel_;  ///< since open()
  Arena* arena_ = nullptr;
  FiberStacks stacks_;  ///< for the calls of groups
  int timeout_ms_ = 0;
};

}  // namespace

std::unique_ptr<Link> make_framed_link(std::unique_ptr<Transport> transport) {
  return std::make_unique<FramedLink>(std::move(transport));
}

}  // namespace sparsecoll
