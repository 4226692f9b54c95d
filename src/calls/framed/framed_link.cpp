// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/framed/framed_link.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "calls/basic_collectives.hpp"
#include "calls/framed/framed_group.hpp"
#include "kernels/device.hpp"

namespace sparsecoll {

namespace {

/// Sent by each rank to all others before a split.
struct SplitMessage {
  SplitArguments arguments;
  uint64_t address;  ///< the sender's address in its child communicator
};

/// Returns what every rank sent, by rank.
std::vector<SplitMessage> gather_split_messages(AgreedCall& call, Arena& arena,
                                                const SplitMessage& own) {
  std::vector<SplitMessage> messages;
  for (const ConstBytes each : allgather_equal(call, arena, std::as_bytes(std::span(&own, 1))))
    std::memcpy(&messages.emplace_back(), each.data(), each.size());
  return messages;
}

/// Returns the ranks of one color in their new order: by key, then by rank.
std::vector<RankAddress> members_of(int color, const std::vector<SplitMessage>& messages) {
  std::vector<RankAddress> members;
  if (color == SPARSECOLL_SPLIT_NOCOLOR) return members;
  for (size_t r = 0; r < messages.size(); ++r)
    if (messages[r].arguments.color == color)
      members.push_back({static_cast<int>(r), messages[r].address});
  std::ranges::stable_sort(members, {}, [&](const RankAddress& each) {
    return messages[static_cast<size_t>(each.rank)].arguments.key;
  });
  return members;
}

}  // namespace

FramedLink::FramedLink(std::unique_ptr<Transport> transport) : transport_(std::move(transport)) {}

void FramedLink::open(const LinkResources& resources) {
  memory_ = &resources.memory;
  arena_ = &resources.arena;
  channel_.emplace(*transport_, resources.memory, resources.verify);
  if (resources.timeline) channel_->record_in(*resources.timeline);
  if (resources.recorder) channel_->record_in(*resources.recorder);
}

void FramedLink::attach(Device& device) {
  transport_->pool().take_large_from(device.page_locked());
}

void FramedLink::run_framed(const CallParameters& parameters, const CallIdentity& identity,
                            FunctionRef<void()> check, FunctionRef<void(FramedCall&)> body) {
  FramedCall call(*channel_, parameters, identity, *arena_);
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

void FramedLink::run(const CallParameters& parameters, const CallIdentity& identity,
                     FunctionRef<void()> check, FunctionRef<void(AgreedCall&)> body) {
  run_framed(parameters, identity, check, [&](FramedCall& call) { body(call); });
}

void FramedLink::run_group(const CallParameters& parameters, const CallIdentity& identity,
                           FunctionRef<void()> check, std::span<const GroupTask> tasks) {
  run_framed(parameters, identity, check,
             [&](FramedCall& call) { FramedGroup(call, *arena_, stacks_, tasks).run(); });
}

void FramedLink::run_unagreed(const CallParameters&, const Descriptor&, FunctionRef<void()> body) {
  body();
}

std::unique_ptr<Link> FramedLink::split(AgreedCall& call, const SplitArguments& arguments) {
  const auto messages =
      gather_split_messages(call, *arena_, {arguments, transport_->next_address()});
  call.confirm();
  auto child = transport_->split(members_of(arguments.color, messages), call.sequence());
  return child ? std::make_unique<FramedLink>(std::move(child)) : nullptr;
}

Recovery* FramedLink::recovery() {
  if (recovery_) return recovery_.get();
  std::unique_ptr<Transport> among = transport_->recovery();
  if (!among) return nullptr;
  auto made = std::make_unique<Recovery>(std::move(among), *memory_);
  const std::lock_guard lock(recovery_mutex_);
  recovery_ = std::move(made);
  return recovery_.get();
}

void FramedLink::shrink(const ShrinkArguments& arguments,
                        FunctionRef<void(ShrunkLink)> initialize) {
  Recovery* const found = recovery();
  if (!found)
    fail(sparsecollInvalidUsage, "the ranks of this transport cannot go on without others");
  Shrink shrink(*found, arguments);
  try {
    auto transport = shrink.gather();
    initialize({std::make_unique<FramedLink>(std::move(transport)), shrink.committed(),
                shrink.init_deadline()});
    shrink.conclude();
  } catch (const Error& error) {
    shrink.send_failure(error);
    throw;
  } catch (const std::bad_alloc&) {
    shrink.send_failure(Error(sparsecollSystemError, "out of memory"));
    throw;
  }
}

std::vector<int> FramedLink::gone() {
  std::vector<int> ranks;
  Recovery* const found = recovery();
  for (int peer = 0; found && peer < size(); ++peer)
    if (found->failed[static_cast<size_t>(peer)] ||
        (peer != rank() && found->transport->gone(peer)))
      ranks.push_back(peer);
  return ranks;
}

void FramedLink::abort() noexcept {
  channel_->abort();
  const std::lock_guard lock(recovery_mutex_);
  if (recovery_) recovery_->channel.interrupt();
}

void FramedLink::flush_gossip(AgreedCall& call) {
  // Messages of one sender arrive in order, so that all older ones have arrived after the barrier.
  barrier(call, *arena_);
  call.confirm();
}

void FramedLink::open_gossip(AgreedCall& call, uint64_t state) {
  flush_gossip(call);
  channel_->open(state);
}

void FramedLink::agree_to_close(AgreedCall& call) {
  if (!channel_->gossiped()) return call.agree();
  flush_gossip(call);  // No rank may leave while its gossip is under way.
  channel_->flush_handed_over(call.deadline());
}

AbandonedMemory FramedLink::abandon(const Error* notice) noexcept {
  AbandonedMemory all{0, true};  // Some messages of the call may still be unsent.
  try {
    all.touches_workspace = transport_->unsent() > 0;
  } catch (const Error&) {
    // The state is unknown: the transport may still access the messages.
  }
  if (notice) channel_->send_fatal(*notice);
  bool touches_notices = false;
  all.bytes = transport_->abandon(&touches_notices);
  if (touches_notices) all.bytes += channel_->leak();
  return all;
}

}  // namespace sparsecoll
