// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Collective calls by hand: a channel over a transport with what a communicator would put around
// it, and exchanges of text.

#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "calls/framed/framed_call.hpp"
#include "collectives/algorithm.hpp"
#include "core/error.hpp"
#include "support/ranks.hpp"
#include "transport/local.hpp"

namespace sparsecoll::unit {

/// Descriptor of a made-up call that differs by k.
inline Descriptor call_with_k(uint64_t k) {
  Descriptor descriptor;
  descriptor.verb = static_cast<uint64_t>(Verb::sparse_allreduce);
  descriptor.argument[kK] = k;
  return descriptor;
}

/// One rank's end.
class Station {
 public:
  Station(std::unique_ptr<Transport> transport, int timeout_ms, bool verify)
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

  /// Makes the next call of the channel.
  template <class Body>
  void call(const Descriptor& descriptor, Body&& body) {
    const Arena::Scope scope(arena_);
    stats_ = Stats{};
    channel_.begin(++sequence_);
    FramedCall framed(channel_, {sequence_, Deadline::after(timeout_ms_), stats_}, descriptor,
                      arena_);
    body(framed);
  }
  void skip_call() { ++sequence_; }

  /// The next call with everything an algorithm needs.
  template <class Body>
  void collective(Body&& body) {
    call(call_with_k(1), [&](FramedCall& framed) {
      Kernels& kernels = make_plain_kernels(DataType::float32, IndexType::index32, arena_);
      framed.set_kernels(kernels);
      Env env{framed, kernels, arena_, stats_, kernels.counts(1)};
      body(env);
    });
  }

  static constexpr int kNobody = -1;

  /// One exchange: sends `message` to a peer, returns what another sent.
  std::string exchange(FramedCall& call, int to, const std::string& message, int from,
                       size_t in_bound = kUnknownSize) {
    Transfer transfers[2];
    size_t n = 0;
    if (to != kNobody) {
      std::byte* room = arena_.take<std::byte>(kHeadroom + message.size()) + kHeadroom;
      std::memcpy(room, message.data(), message.size());
      transfers[n++] = {to, {room, message.size(), nullptr}, 0, {}};
    }
    if (from != kNobody) transfers[n++] = {from, {}, in_bound, {}};
    call.exchange({transfers, n});
    if (from == kNobody) return "";
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

/// P stations whose ranks are threads.
class Stations {
 public:
  explicit Stations(int P, int timeout_ms = 30000, const FaultPlan& plan = {}, bool verify = true) {
    for (auto& transport : make_local_transports(P, plan))
      stations_.push_back(std::make_unique<Station>(std::move(transport), timeout_ms, verify));
  }
  Station& operator[](int rank) { return *stations_[static_cast<size_t>(rank)]; }

  /// Runs body(station) on a thread for each rank; the sum of the verdicts.
  std::string run(const std::function<std::string(Station&)>& body) {
    return test::run_threads("by hand", static_cast<int>(stations_.size()),
                             [&](int rank) { return body((*this)[rank]); });
  }

 private:
  std::vector<std::unique_ptr<Station>> stations_;
};

/// "" when `body` throws an Error with this code whose message contains `words`.
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
