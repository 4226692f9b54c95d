// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ranks for tests below the communicator: each has a channel over a transport, an arena and
// statistics, and makes collective calls and exchanges of text.

#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "calls/framed/framed_call.hpp"
#include "collectives/interface/algorithm.hpp"
#include "core/error.hpp"
#include "support/ranks.hpp"
#include "transport/local.hpp"

namespace sparsecoll::unit {

/// Returns a descriptor for tests. Descriptors with different k differ.
inline Descriptor call_with_k(uint64_t k) {
  Descriptor descriptor;
  descriptor.verb = static_cast<uint64_t>(Verb::sparse_allreduce);
  descriptor.argument[kK] = k;
  return descriptor;
}

/// One rank: a transport, a channel and an arena.
class ChannelRank {
 public:
  ChannelRank(std::unique_ptr<Transport> transport, int timeout_ms, bool verify)
      : transport_(std::move(transport)),
        timeout_ms_(timeout_ms),
        channel_(*transport_, memory_, verify),
        arena_(memory_) {}

  int rank() const { return channel_.rank(); }
  int size() const { return channel_.size(); }
  Transport& transport() { return *transport_; }
  Channel& channel() { return channel_; }
  Arena& arena() { return arena_; }
  Memory& memory() { return memory_; }
  const Stats& stats() const { return stats_; }

  /// Makes the next call of the channel and runs body(FramedCall&) in it.
  template <class Body>
  void call(const Descriptor& descriptor, Body&& body) {
    const Arena::Scope scope(arena_);
    stats_ = Stats{};
    channel_.begin(++sequence_);
    FramedCall framed(channel_, {sequence_, Deadline::after(timeout_ms_), stats_}, descriptor,
                      arena_);
    body(framed);
  }
  /// Counts a call without making it.
  void skip_call() { ++sequence_; }

  /// Makes the next call and runs body(Env&), which may run an algorithm.
  template <class Body>
  void collective(Body&& body) {
    call(call_with_k(1), [&](FramedCall& framed) {
      Kernels& kernels = make_plain_kernels(DataType::float32, IndexType::index32, arena_);
      framed.set_kernels(kernels);
      Env env{framed, kernels, arena_, stats_, kernels.counts(1)};
      body(env);
    });
  }

  static constexpr int kNoPeer = -1;

  /// Sends `message` to a peer and returns the message of another peer. Either may be kNoPeer.
  std::string exchange(FramedCall& call, int to, const std::string& message, int from,
                       size_t in_bound = kUnknownSize) {
    Transfer transfers[2];
    size_t n = 0;
    if (to != kNoPeer) {
      std::byte* room = arena_.take<std::byte>(kHeadroom + message.size()) + kHeadroom;
      std::memcpy(room, message.data(), message.size());
      transfers[n++] = {to, {room, message.size(), nullptr}, 0, {}};
    }
    if (from != kNoPeer) transfers[n++] = {from, {}, in_bound, {}};
    call.exchange({transfers, n});
    if (from == kNoPeer) return "";
    const ConstBytes in = transfers[n - 1].in;
    return std::string(reinterpret_cast<const char*>(in.data()), in.size());
  }

 private:
  std::unique_ptr<Transport> transport_;
  int timeout_ms_;
  Memory memory_;
  Channel channel_;
  Arena arena_;
  Stats stats_;
  uint64_t sequence_ = 0;
};

/// P ranks. Each runs on a thread of its own.
class ChannelRanks {
 public:
  explicit ChannelRanks(int P, int timeout_ms = 30000, const FaultPlan& plan = {},
                        bool verify = true) {
    for (auto& transport : make_local_transports(P, plan))
      ranks_.push_back(std::make_unique<ChannelRank>(std::move(transport), timeout_ms, verify));
  }
  ChannelRank& operator[](int rank) { return *ranks_[static_cast<size_t>(rank)]; }

  /// Runs body(rank) on one thread for each rank. Returns the errors of all ranks, or "".
  std::string run(const std::function<std::string(ChannelRank&)>& body) {
    return test::run_threads("channel ranks", static_cast<int>(ranks_.size()),
                             [&](int rank) { return body((*this)[rank]); });
  }

 private:
  std::vector<std::unique_ptr<ChannelRank>> ranks_;
};

/// Runs `body`. Returns "" if it throws an Error with this code and a message that contains
/// `words`; otherwise describes what happened.
inline std::string expect_error(sparsecollResult_t code, const std::string& words,
                                const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    if (error.code() != code) return text("error ", error.code(), ": ", error.what());
    if (std::string(error.what()).find(words) != std::string::npos) return "";
    return text("the message is '", error.what(), "', without '", words, "'");
  } catch (const Abandoned&) {
    return "abandoned";
  }
  return "no error";
}

}  // namespace sparsecoll::unit
