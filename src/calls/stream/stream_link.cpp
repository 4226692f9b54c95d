// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// The connection in stream order, over NCCL. What the ranks agree on is compared in words when a
// call's shape is new, or at every call where messages are checked; else each message says which
// call it is of.
#include <atomic>
#include <new>
#include <optional>
#include <unordered_set>
#include <utility>

#include "calls/stream/stream_call.hpp"
#include "calls/stream/stream_group.hpp"
#include "calls/stream/stream_watchdog.hpp"
#include "core/checksum.hpp"
#include "core/machine.hpp"

namespace sparsecoll {

namespace {

constexpr size_t kCachedShapes = 4096;

/// What stays the same from call to call.
uint64_t shape_of(const Agreed& agreed) {
  const auto without_cache_hash = [](Descriptor each) {
    each.argument[kCacheHash] = 0;
    return each.hash();
  };
  if (agreed.members.empty()) return without_cache_hash(agreed.descriptor);
  uint64_t shape = agreed.descriptor.verb;
  for (const Descriptor& each : agreed.members) shape = mix(shape + without_cache_hash(each));
  return shape;
}

/// What the device tells the host of calls that nobody waits for. Made while the device is the
/// current one.
class Shared {
 public:
  explicit Shared(Device& device)
      : alarm_(*device.page_locked(), sizeof(Alarm)),
        mirror_(*device.page_locked(), sizeof(DeviceTotals)),
        tally_(*device.memory(), sizeof(DeviceTotals)) {
    new (alarm_.data()) Alarm{};
    const auto* const zero = new (mirror_.data()) DeviceTotals{};
    Kernels& kernels = device.kernels(DataType::float32, IndexType::index32);
    kernels.copy(zero, sizeof *zero, tally_.data());
  }

  const Alarm* alarm() const { return reinterpret_cast<const Alarm*>(alarm_.data()); }
  const DeviceTotals* tally() const {
    return reinterpret_cast<const DeviceTotals*>(mirror_.data());
  }
  DeviceReport books() const {
    return {reinterpret_cast<DeviceTotals*>(tally_.data()),
            reinterpret_cast<DeviceTotals*>(mirror_.data()),
            reinterpret_cast<Alarm*>(alarm_.data())};
  }

 private:
  Block alarm_, mirror_, tally_;
};

/// A call that is made, until all of it is queued.
class CallInFlight {
 public:
  CallInFlight(StreamWatchdog& watch, Device& device, uint64_t sequence)
      : watch_(watch), device_(device) {
    if (!captured_) watch.begins(sequence);
  }
  ~CallInFlight() {
    if (!captured_) watch_.ends(device_);
  }
  CallInFlight(const CallInFlight&) = delete;
  CallInFlight& operator=(const CallInFlight&) = delete;

 private:
  StreamWatchdog& watch_;
  Device& device_;
  const bool captured_ = device_.captured();  ///< whoever launches the graph looks after it
};

class StreamLink final : public Link {
 public:
  explicit StreamLink(std::unique_ptr<StreamTransport> transport)
      : transport_(std::move(transport)) {}
  ~StreamLink() override {
    watch_.reset();
    if (!closed_) transport_->interrupt();
  }

  int rank() const override { return transport_->rank(); }
  int size() const override { return transport_->size(); }
  uint64_t node() const override { return machine_number(); }
  std::optional<int> device() const override { return transport_->device(); }
  void check_thread() const override {}
  void check_queue() const override {}
  void open(const LinkResources& owner) override { owner_.emplace(owner); }
  void use(Device& device) override {
    device_ = &device;
    device.begin(std::nullopt);  // which is the current one from now on
    try {
      own_.emplace(device);
    } catch (...) {
      device.end(true);
      throw;
    }
    device.end(false);
    watch_.emplace(StreamWatchdog::Watched{*transport_, device, own_->alarm(), owner_->timeout_ms});
    end_.emplace(StreamResources{*transport_, device, *watch_, owner_->arena, own_->books()});
  }

  void begin(uint64_t sequence) override {
    sequence_ = sequence;
    watch_->check();
  }
  void end() override {}

  void make(const CallParameters& terms, const Agreed& agreed, FunctionRef<void()> check,
            FunctionRef<void(AgreedCall&)> body) override {
    std::optional<Error> problem;
    try {
      check();
    } catch (const Error& error) {
      if (fatal(error.code())) throw;
      problem = error;
    }
    if (!device_->begun()) device_->begin(std::nullopt);
    const uint64_t shape = shape_of(agreed);
    const bool captured = device_->captured();
    const bool known = shapes_.contains(shape) && (captured || !owner_->verify);
    if (captured && !known && !problem)
      problem = Error(sparsecollInvalidUsage,
                      "stream: expected one that is not captured for the first call with these "
                      "arguments, got one that is");
    // Nobody expects to be told; they wait until the call is made in earnest.
    if (problem && (known || captured)) throw NotMade(*problem);
    const CallInFlight made(*watch_, *device_, sequence_);
    StreamCall call(*end_,
                    {agreed.descriptor, agreed.members, ++made_, terms.sequence, terms.deadline},
                    terms.stats);
    telling_failure([&] {
      if (!known) {
        call.meet_all(problem ? &*problem : nullptr);
        if (shapes_.size() == kCachedShapes) shapes_.clear();  // as on all ranks
        shapes_.insert(shape);
      }
      body(call);
    });
  }
  void make_alone(const CallParameters& terms, const Descriptor& descriptor,
                  FunctionRef<void(StreamCall&)> body) override {
    const CallInFlight made(*watch_, *device_, sequence_);
    StreamCall call(*end_, {descriptor, {}, ++made_, terms.sequence, terms.deadline}, terms.stats);
    telling_failure([&] { body(call); });
  }
  void run_group(AgreedCall& call, std::span<const GroupTask> members) override {
    StreamGroup(static_cast<StreamCall&>(call), stacks_, members).run();
  }

  std::unique_ptr<Link> split(AgreedCall& call, const SplitWish& wish) override {
    call.agree();
    auto part = transport_->split(wish.color, wish.key, call.deadline());
    return part ? make_stream_link(std::move(part)) : nullptr;
  }
  bool close_is_collective() const override { return true; }
  void leave(AgreedCall& call) override { call.agree(); }
  void close() override {
    device_->wait();
    watch_->stop();
    telling_failure([&] { transport_->close(Deadline::after(owner_->timeout_ms)); });
    closed_ = true;
  }

  void abort() noexcept override {
    aborted_ = true;
    const Error why(sparsecollInvalidUsage, "aborted by sparsecollCommAbort");
    if (watch_)
      watch_->interrupt(why);
    else
      transport_->interrupt();
  }
  bool aborted() const override { return aborted_; }
  AbandonedMemory abandon(const Error*) noexcept override {
    // NCCL leaves no message under way that could touch anything later.
    transport_->interrupt();
    closed_ = true;
    return {};
  }
  std::optional<Error> failure() override { return watch_ ? watch_->failure() : std::nullopt; }
  const DeviceTotals* tally() const override { return own_ ? own_->tally() : nullptr; }

 private:
  /// Where the watch has interrupted the transport, `work` fails because of that: its reason
  /// counts.
  void telling_failure(FunctionRef<void()> work) {
    try {
      work();
    } catch (const Error&) {
      if (const auto found = watch_->failure()) throw Error(*found);
      throw;
    }
  }

  std::unique_ptr<StreamTransport> transport_;
  std::optional<LinkResources> owner_;
  Device* device_ = nullptr;
  std::optional<Shared> own_;
  std::optional<StreamWatchdog> watch_;
  std::optional<StreamResources> end_;
  uint64_t sequence_ = 0;
  uint64_t made_ = 0;
  std::unordered_set<uint64_t> shapes_;  ///< of calls that all ranks have made before
  FiberStacks stacks_;                   ///< for the calls of groups
  std::atomic<bool> aborted_{false};
  bool closed_ = false;
};

}  // namespace

std::unique_ptr<Link> make_stream_link(std::unique_ptr<StreamTransport> transport) {
  return std::make_unique<StreamLink>(std::move(transport));
}

}  // namespace sparsecoll
