// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/framed/shrink.hpp"

#include <algorithm>
#include <utility>

#include "core/checksum.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {

std::vector<int> numbers_of(const std::vector<bool>& ranks) {
  std::vector<int> numbers;
  for (size_t r = 0; r < ranks.size(); ++r)
    if (ranks[r]) numbers.push_back(static_cast<int>(r));
  return numbers;
}

/// Returns an id of a split, which differs if the ranks do not know the same members.
uint64_t id_of(uint64_t attempt, std::span<const RankAddress> members) {
  uint64_t id = mix(attempt);
  for (const RankAddress& each : members) id = mix(id + static_cast<uint64_t>(each.rank));
  return id;
}

std::string list_of(const std::vector<bool>& ranks) {
  const std::vector<int> numbers = numbers_of(ranks);
  return numbers.empty() ? "no rank" : name_ranks(numbers);
}

}  // namespace

Shrink::Shrink(Recovery& recovery, const ShrinkArguments& arguments)
    : recovery_(recovery),
      channel_(recovery.channel),
      arguments_(arguments),
      deadline_(Deadline::after(arguments.timeout_ms)),
      excluded_(recovery.failed.size()),
      missing_(recovery.failed.size()),
      peers_(recovery.failed.size()),
      committed_(arguments.committed) {
  channel_.resume();
  channel_.begin(++recovery_.attempt);
  if (arguments.problem) return;
  if (!arguments.excluded) {
    for (int peer = 0; peer < channel_.size(); ++peer)
      if (peer != channel_.rank() && recovery_.transport->gone(peer))
        recovery_.failed[static_cast<size_t>(peer)] = true;
    excluded_ = recovery_.failed;
  } else {
    for (const int rank : *arguments.excluded) excluded_[static_cast<size_t>(rank)] = true;
  }
}

std::vector<bool> Shrink::remaining() const {
  std::vector<bool> ranks = excluded_;
  ranks.flip();
  return ranks;
}

std::unique_ptr<Transport> Shrink::gather() {
  const uint64_t address = recovery_.transport->next_address();
  try {
    return gather(address);
  } catch (const Error&) {
    // Peers may already have sent to this address. The next shrink must not receive that.
    const RankAddress self{channel_.rank(), address};
    recovery_.transport->split({&self, 1}, id_of(recovery_.attempt, {&self, 1}));
    throw;
  }
}

std::unique_ptr<Transport> Shrink::gather(uint64_t address) {
  ShrinkNotice hello{Kind::hello, sparsecollSuccess, arguments_.excluded.has_value(),
                     committed_,  address,           {},
                     excluded_};
  if (arguments_.problem) {
    hello.result = arguments_.problem->code();
    hello.why = arguments_.problem->what();
  }
  send_to_all(hello);
  if (arguments_.problem) throw Error(*arguments_.problem);
  wait_for_all(deadline_.part(75),
               [this](int peer) { return peers_[static_cast<size_t>(peer)].hello.has_value(); });
  std::vector<RankAddress> members;
  for (const int rank : numbers_of(remaining())) {
    const bool own = rank == channel_.rank();
    const ShrinkNotice& theirs = own ? hello : *peers_[static_cast<size_t>(rank)].hello;
    members.push_back({rank, theirs.address});
    committed_ = std::min(committed_, theirs.committed);
  }
  return recovery_.transport->split(members, id_of(recovery_.attempt, members));
}

void Shrink::conclude() {
  send_to_all({Kind::result, sparsecollSuccess, false, committed_, 0, {}, remaining()});
  wait_for_all(deadline_.part(100),
               [this](int peer) { return done_ || peers_[static_cast<size_t>(peer)].has_result; });
  send_to_all({Kind::done});
}

void Shrink::send_failure(const Error& error) {
  const ShrinkNotice failure{Kind::result, error.code(), false, 0, 0, error.what(), missing_};
  // With different lists, ranks may wait for one that excludes them.
  const bool all = arguments_.excluded && error.code() == sparsecollInvalidUsage;
  for (int peer = 0; peer < channel_.size(); ++peer)
    if (peer != channel_.rank() && (all || remains(peer))) send(peer, failure);
}

void Shrink::wait_for_all(const Deadline& deadline, FunctionRef<bool(int peer)> arrived) {
  std::vector<int> peers;
  for (int peer = 0; peer < channel_.size(); ++peer)
    if (peer != channel_.rank() && remains(peer)) peers.push_back(peer);
  std::vector<int> still;
  const auto update = [&](std::vector<int>& awaited) {
    take_notices();
    if (!arguments_.excluded)
      for (const int peer : awaited)
        if (!peers_[static_cast<size_t>(peer)].hello && recovery_.transport->gone(peer))
          excluded_[static_cast<size_t>(peer)] = recovery_.failed[static_cast<size_t>(peer)] = true;
    std::erase_if(awaited, [&](int peer) { return !remains(peer) || arrived(peer); });
    still = awaited;
  };
  try {
    channel_.wait(peers, {.deadline = deadline,
                          .on_frame = [](int, const Frame&) {},
                          .update = update,
                          .missing =
                              [](const std::vector<int>& awaited) {
                                return text("nothing was heard from ", name_ranks(awaited));
                              }});
  } catch (const Error& error) {
    if (error.code() == sparsecollTimeout)
      for (const int peer : still)
        missing_[static_cast<size_t>(peer)] = recovery_.failed[static_cast<size_t>(peer)] = true;
    throw;
  }
}

void Shrink::take_notices() {
  for (int peer = 0; peer < channel_.size(); ++peer) {
    FrameQueue& frames = channel_.queue(peer);
    while (!frames.empty() && frames.front().header.sequence <= recovery_.attempt) {
      const Frame frame = std::move(frames.front());
      frames.pop_front();
      if (frame.header.sequence == recovery_.attempt)
        take(peer, ShrinkNotice::decode(peer, peers_.size(), frame.payload()));
    }
  }
  if (failure_ && !done_) fail_with(failure_->first, failure_->second);
}

void Shrink::take(int peer, ShrinkNotice notice) {
  if (!remains(peer)) return refuse(peer, notice);
  if (notice.result != sparsecollSuccess) {
    if (!failure_) failure_.emplace(peer, std::move(notice));
    return;
  }
  switch (notice.kind) {
    case Kind::hello:
      return take_hello(peer, std::move(notice));
    case Kind::result:
      if (notice.committed != committed_ || notice.ranks != remaining())
        fail(sparsecollRemoteError, "rank ", peer, " goes on with ", list_of(notice.ranks),
             " after call ", notice.committed, ", this rank with ", list_of(remaining()),
             " after call ", committed_);
      peers_[static_cast<size_t>(peer)].has_result = true;
      return;
    case Kind::done:
      done_ = true;
      return;
  }
}

void Shrink::refuse(int peer, const ShrinkNotice& notice) {
  // Without a list it came too late, and knows that itself.
  if (!arguments_.excluded || notice.kind != Kind::hello) return;
  if (std::exchange(peers_[static_cast<size_t>(peer)].refused, true)) return;
  send(peer, {Kind::hello, sparsecollSuccess, true, committed_, 0, {}, excluded_});
}

void Shrink::take_hello(int peer, ShrinkNotice hello) {
  const bool lists = arguments_.excluded.has_value();
  if (hello.lists != lists || (lists && hello.ranks != excluded_)) {
    const auto in_words = [](bool has_list, const std::vector<bool>& ranks) {
      return has_list ? list_of(ranks) : std::string("NULL");
    };
    fail(sparsecollInvalidUsage, "ranks disagree on exclude: this rank passed ",
         in_words(lists, excluded_), ", rank ", peer, " passed ",
         in_words(hello.lists, hello.ranks));
  }
  for (const int rank : numbers_of(hello.ranks)) {
    if (rank == channel_.rank())
      fail(sparsecollRemoteError, "the other ranks have given up waiting for this one");
    if (!lists) excluded_[static_cast<size_t>(rank)] = true;
    if (!lists) recovery_.failed[static_cast<size_t>(rank)] = true;
  }
  peers_[static_cast<size_t>(peer)].hello = std::move(hello);
}

void Shrink::fail_with(int peer, const ShrinkNotice& notice) {
  if (notice.kind == Kind::hello)
    fail(sparsecollInvalidUsage, "rank ", peer, " passed a bad argument: ", notice.why);
  if (notice.ranks[static_cast<size_t>(channel_.rank())])
    fail(sparsecollRemoteError, "rank ", peer, " has given up waiting for this one");
  for (const int rank : numbers_of(notice.ranks))
    recovery_.failed[static_cast<size_t>(rank)] = missing_[static_cast<size_t>(rank)] = true;
  if (notice.result == sparsecollTimeout) throw Error(sparsecollTimeout, notice.why);
  const bool same = notice.result == sparsecollInvalidUsage;
  throw Error(same ? notice.result : sparsecollRemoteError,
              text("rank ", peer, " failed: ", notice.why));
}

void Shrink::send_to_all(const ShrinkNotice& notice) {
  for (int peer = 0; peer < channel_.size(); ++peer)
    if (peer != channel_.rank() && remains(peer)) send(peer, notice);
}

void Shrink::send(int peer, const ShrinkNotice& notice) {
  const auto ranks = static_cast<size_t>(channel_.size());
  Buffer frame = recovery_.transport->pool().take_fitting(sizeof(FrameHeader) +
                                                          ShrinkNotice::encoded_bytes(ranks));
  notice.encode(ranks, frame.data() + sizeof(FrameHeader));
  FrameHeader header{};
  header.kind = static_cast<uint16_t>(FrameKind::data);
  header.sequence = recovery_.attempt;
  header.covered_first = static_cast<uint32_t>(channel_.rank());
  header.covered_count = 1;
  try {
    channel_.hand_over(peer, header, std::move(frame));
  } catch (const Error&) {
    if (!recovery_.transport->gone(peer)) throw;
    recovery_.failed[static_cast<size_t>(peer)] = true;
    if (!remains(peer)) return;
    if (notice.result != sparsecollSuccess) return;  // the others hear of the failure, too
    if (arguments_.excluded || notice.kind != Kind::hello) throw;
    excluded_[static_cast<size_t>(peer)] = true;
  }
}

}  // namespace sparsecoll
