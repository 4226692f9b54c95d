// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// The queues of streams, and how their work runs. A thread that waits runs the work itself, item by
// item, with the mutex held. If an item is not ready, it runs what that waits for, in whichever
// stream it is. If that is not ready either, the thread sleeps until something changes. So two
// threads never run the same item, and no stream runs out of order.

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <utility>

#include "graph.hpp"

namespace simt {

namespace {

std::condition_variable changed;
std::atomic<size_t> waited{0};
uint64_t changes = 0;

class Task final : public Work {
 public:
  explicit Task(std::function<void()> body) : body_(std::move(body)) {}
  void run() override { body_(); }

 private:
  const std::function<void()> body_;
};

class After final : public Work {
 public:
  explicit After(Marker marker) : marker_(std::move(marker)) {}
  bool ready() override { return marker_.reached(); }
  std::vector<Marker> waits_for() const override { return {marker_}; }
  void run() override {}

 private:
  const Marker marker_;
};

std::shared_ptr<CUstream_st> add(CUstream_st::Kind kind, int device, bool nameless) {
  const auto stream = std::make_shared<CUstream_st>();
  static uint64_t made = 0;
  stream->id = ++made;
  stream->device = device;
  stream->kind = kind;
  stream->nameless = nameless;
  streams().push_back(stream);
  return stream;
}

void forget_if_done(const CUstream_st& stream) {
  if (stream.nameless && stream.work.empty())
    std::erase_if(streams(), [&](const auto& each) { return each.get() == &stream; });
}

/// The default streams of a thread, one for every device.
class OwnStreams {
 public:
  std::shared_ptr<CUstream_st> on(int device) {
    auto& stream = own_[static_cast<size_t>(device)];
    if (!stream) stream = add(CUstream_st::Kind::free, device, false);
    return stream;
  }
  ~OwnStreams() {
    const Lock lock(mutex);
    for (const auto& stream : own_) {
      if (!stream) continue;
      stream->nameless = true;
      forget_if_done(*stream);
    }
  }

 private:
  std::array<std::shared_ptr<CUstream_st>, kDevices> own_;
};

std::shared_ptr<CUstream_st> legacy_on(int device) {
  static auto& all = *new std::array<std::shared_ptr<CUstream_st>, kDevices>;
  auto& stream = all[static_cast<size_t>(device)];
  if (!stream) stream = add(CUstream_st::Kind::legacy, device, false);
  return stream;
}

/// The legacy stream of a device waits for its blocking streams, and they wait for it.
void keep_order(const std::shared_ptr<CUstream_st>& stream) {
  using Kind = CUstream_st::Kind;
  if (stream->kind == Kind::free) return;
  const Kind other = stream->kind == Kind::legacy ? Kind::blocking : Kind::legacy;
  for (const auto& each : streams()) {
    if (each->kind != other || each->device != stream->device || each->done == each->queued ||
        stream->waited[each->id] == each->queued)
      continue;
    stream->waited[each->id] = each->queued;
    push_wait(stream, {each, each->queued});
  }
}

/// Runs at most one item of work: the next one of the stream, or one for which that waits.
void step(CUstream_st& stream, std::set<const CUstream_st*>& seen) {
  if (stream.work.empty() || !seen.insert(&stream).second) return;
  heap().open();
  const uint64_t before = changes;
  if (stream.work.front()->ready()) {
    stream.work.front()->run();
    stream.work.pop_front();
    ++stream.done;
    forget_if_done(stream);
    note_change();
    return;
  }
  for (const Marker& needed : stream.work.front()->waits_for())
    if (changes == before && !needed.reached()) step(*needed.stream, seen);
}

}  // namespace

size_t waits() { return waited; }

bool Marker::reached() const { return !stream || stream->done >= number; }

MakeWork task(std::function<void()> body) {
  return [body = std::move(body)] { return std::make_unique<Task>(body); };
}

void stop(const char* complaint) {
  std::fprintf(stderr, "simt: %s\n", complaint);
  std::abort();
}

std::vector<std::shared_ptr<CUstream_st>>& streams() {
  static auto& all = *new std::vector<std::shared_ptr<CUstream_st>>;  // threads may end after main
  return all;
}

std::shared_ptr<CUstream_st> nameless_stream(int device) {
  return add(CUstream_st::Kind::free, device, true);
}

std::shared_ptr<CUstream_st> find(cudaStream_t stream) {
  static thread_local OwnStreams own;
  if (stream == nullptr || stream == cudaStreamLegacy) return legacy_on(current);
  if (stream == cudaStreamPerThread) return own.on(current);
  for (const auto& each : streams())
    if (each.get() == stream && !each->nameless) return each;
  stop("a stream that was destroyed, or never made");
}

Marker everything(const std::shared_ptr<CUstream_st>& stream) {
  keep_order(stream);
  return {stream, stream->queued};
}

void push(const std::shared_ptr<CUstream_st>& stream, std::unique_ptr<Work> work) {
  work->marker = {stream, ++stream->queued};
  stream->work.push_back(std::move(work));
  note_change();
}

std::unique_ptr<Work> make_wait(const Marker& marker) { return std::make_unique<After>(marker); }

void push_wait(const std::shared_ptr<CUstream_st>& stream, const Marker& marker) {
  if (!marker.reached()) push(stream, make_wait(marker));
}

cudaError_t submit(cudaStream_t handle, const MakeWork& make) {
  const auto stream = find(handle);
  if (const cudaError_t error = refuse_implicit(*stream); error != cudaSuccess) return error;
  if (stream->capture) return stream->capture->add(stream->branch, make);
  keep_order(stream);
  push(stream, make());
  return cudaSuccess;
}

bool wait_until(Lock& lock, const std::function<bool()>& condition, Clock::time_point give_up) {
  while (!condition()) {
    const uint64_t before = changes;
    const auto has_changed = [&] { return changes != before; };
    if (give_up == Clock::time_point::max())
      changed.wait(lock, has_changed);
    else if (!changed.wait_until(lock, give_up, has_changed))
      return condition();
  }
  return true;
}

void wait_for(Lock& lock, const Marker& marker) {
  ++waited;
  while (!marker.reached()) {
    const uint64_t before = changes;
    std::set<const CUstream_st*> seen;
    step(*marker.stream, seen);
    if (changes != before) continue;
    heap().close();
    changed.wait(lock, [&] { return changes != before; });
  }
  heap().close();  // once for all work that has run: it takes as long as a small kernel
}

bool advance(const Marker& marker) {
  while (!marker.reached()) {
    const uint64_t before = changes;
    std::set<const CUstream_st*> seen;
    step(*marker.stream, seen);
    if (changes != before) continue;
    heap().close();
    return false;
  }
  heap().close();
  return true;
}

void drain_device(Lock& lock, int device) {
  std::vector<Marker> all;
  for (const auto& each : streams())
    if (each->device == device) all.push_back({each, each->queued});
  for (const Marker& each : all) wait_for(lock, each);
}

void note_change() {
  ++changes;
  changed.notify_all();
}

}  // namespace simt
