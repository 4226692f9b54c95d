// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/flight_recorder.hpp"

#include <algorithm>
#include <type_traits>

namespace sparsecoll {

namespace {

template <class T>
void set(std::atomic<T>& member, std::type_identity_t<T> value) {
  member.store(value, std::memory_order_release);
}

template <class T>
T get(const std::atomic<T>& member) {
  return member.load(std::memory_order_acquire);
}

Clock::time_point time_of(Clock::rep time) { return Clock::time_point(Clock::duration(time)); }
Clock::rep number_of(Clock::time_point time) { return time.time_since_epoch().count(); }

}  // namespace

template <class Change>
void FlightRecorder::change(Record& record, Change change) noexcept {
  const uint64_t version = record.version.load(std::memory_order_relaxed);
  record.version.store(version + 1, std::memory_order_relaxed);
  change();
  set(record.version, version + 2);
}

Progress* FlightRecorder::begin(uint64_t sequence, const Descriptor& call,
                                Clock::time_point time) noexcept {
  const uint64_t before = begun_.load(std::memory_order_relaxed);
  Record& record = records_[before % kCalls];
  change(record, [&] {
    set(record.sequence, sequence);
    set(record.verb, call.verb);
    for (size_t a = 0; a < record.arguments.size(); ++a) set(record.arguments[a], call.argument[a]);
    set(record.begin, number_of(time));
    set(record.algorithm, 0);
    set(record.result, sparsecollSuccess);
    set(record.ended, false);
    set(record.waits, false);
    set(record.all_peers, 0);
    record.progress.reach(Stage::begun, time);
  });
  set(begun_, before + 1);
  return &record.progress;
}

void FlightRecorder::end(int algorithm, sparsecollResult_t result) noexcept {
  Record& record = current();
  set(record.algorithm, algorithm);
  set(record.result, result);
  set(record.ended, true);
}

void FlightRecorder::fail(int algorithm, sparsecollResult_t result) noexcept {
  current().progress.set_time(Clock::now());
  end(algorithm, result);
}

void FlightRecorder::begin_wait() noexcept {
  Record& record = current();
  set(record.waits_since, number_of(record.progress.time()));
  set(record.waits, true);
}

void FlightRecorder::set_peers(std::span<const int> peers) noexcept {
  Record& record = current();
  change(record, [&] {
    set(record.all_peers, static_cast<uint32_t>(peers.size()));
    for (size_t i = 0; i < std::min(kPeers, peers.size()); ++i) set(record.peers[i], peers[i]);
  });
}

void FlightRecorder::end_wait() noexcept { set(current().waits, false); }

FlightRecorder::Call FlightRecorder::read(const Record& record) {
  Call call;
  call.sequence = get(record.sequence);
  call.verb = get(record.verb);
  for (size_t a = 0; a < call.arguments.size(); ++a) call.arguments[a] = get(record.arguments[a]);
  call.begin = time_of(get(record.begin));
  call.ended = get(record.ended);  // read before the members that are written at the end
  call.algorithm = get(record.algorithm);
  call.result = static_cast<sparsecollResult_t>(get(record.result));
  call.stage = record.progress.stage();
  call.end = record.progress.time();
  call.waits = get(record.waits);
  call.waits_since = time_of(get(record.waits_since));
  call.all_peers = get(record.all_peers);
  for (size_t i = 0; i < std::min(kPeers, call.all_peers); ++i)
    call.peers.push_back(get(record.peers[i]));
  return call;
}

std::vector<FlightRecorder::Call> FlightRecorder::calls() const {
  constexpr int kAttempts = 100;  // a writer that was stopped must not block the reader
  const uint64_t begun = get(begun_);
  std::vector<Call> calls;
  for (uint64_t i = begun > kCalls ? begun - kCalls : 0; i < begun; ++i) {
    const Record& record = records_[i % kCalls];
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const uint64_t version = get(record.version);
      Call call = read(record);
      if (version % 2 == 1 || record.version.load(std::memory_order_relaxed) != version) continue;
      calls.push_back(std::move(call));
      break;
    }
  }
  std::ranges::sort(calls, {}, &Call::begin);  // a record may have been reused for a newer call
  return calls;
}

}  // namespace sparsecoll
