// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/stream/stream_link.hpp"

#include <new>
#include <utility>

#include "calls/stream/stream_group.hpp"
#include "core/checksum.hpp"

namespace sparsecoll {

namespace {

constexpr size_t kCachedShapes = 4096;

/// Returns a hash of what stays the same from call to call.
uint64_t shape_of(const CallIdentity& identity) {
  const auto without_cache_hash = [](Descriptor each) {
    each.argument[kCacheHash] = 0;
    return each.hash();
  };
  if (identity.members.empty()) return without_cache_hash(identity.descriptor);
  uint64_t shape = identity.descriptor.verb;
  for (const Descriptor& each : identity.members) shape = mix(shape + without_cache_hash(each));
  return shape;
}

/// Lets the watchdog watch a call, from its begin until all its work is queued.
class CallInFlight {
 public:
  CallInFlight(StreamWatchdog& watchdog, Device& device, uint64_t sequence)
      : watchdog_(watchdog), device_(device) {
    if (!captured_) watchdog.begin_call(sequence);
  }
  ~CallInFlight() {
    if (!captured_) watchdog_.end_call(device_);
  }
  CallInFlight(const CallInFlight&) = delete;
  CallInFlight& operator=(const CallInFlight&) = delete;

 private:
  StreamWatchdog& watchdog_;
  Device& device_;
  const bool captured_ = device_.captured();  ///< Whoever launches the graph watches it.
};

}  // namespace

StreamLink::ReportMemory::ReportMemory(Device& device)
    : alarm_(*device.page_locked(), sizeof(Alarm)),
      mirror_(*device.page_locked(), sizeof(DeviceTotals)),
      totals_(*device.memory(), sizeof(DeviceTotals)) {
  new (alarm_.data()) Alarm{};
  const auto* const zero = new (mirror_.data()) DeviceTotals{};
  Kernels& kernels = device.kernels(DataType::float32, IndexType::index32);
  kernels.copy(zero, sizeof *zero, totals_.data());
}

DeviceReport StreamLink::ReportMemory::report() const {
  return {reinterpret_cast<DeviceTotals*>(totals_.data()),
          reinterpret_cast<DeviceTotals*>(mirror_.data()), reinterpret_cast<Alarm*>(alarm_.data())};
}

StreamLink::StreamLink(std::unique_ptr<StreamTransport> transport)
    : transport_(std::move(transport)) {}

StreamLink::~StreamLink() {
  watchdog_.reset();
  if (!closed_) transport_->interrupt();
}

void StreamLink::attach(Device& device) {
  device_ = &device;
  device.begin(std::nullopt);  // makes it the current one
  try {
    report_.emplace(device);
  } catch (...) {
    device.end(true);
    throw;
  }
  device.end(false);
  watchdog_.emplace(
      StreamWatchdog::Watched{*transport_, device, report_->alarm(), resources_->timeout_ms});
  call_resources_.emplace(StreamResources{*transport_, device, *watchdog_, resources_->arena,
                                          report_->report(), joined_});
}

void StreamLink::join_node(int node, const Deadline& deadline) {
  with_first_failure([&] { transport_->join(node, deadline); });
  joined_ = true;
}

void StreamLink::begin_call(uint64_t sequence) {
  sequence_ = sequence;
  watchdog_->check();
}

void StreamLink::run_stream(const CallParameters& parameters, const CallIdentity& identity,
                            FunctionRef<void()> check, FunctionRef<void(StreamCall&)> body) {
  std::optional<Error> problem;
  try {
    check();
  } catch (const Error& error) {
    if (fatal(error.code())) throw;
    problem = error;
  }
  if (!device_->begun()) device_->begin(std::nullopt);
  const uint64_t shape = shape_of(identity);
  const bool captured = device_->captured();
  const bool known = shapes_.contains(shape) && (captured || !resources_->verify);
  if (captured && !known && !problem)
    problem = Error(sparsecollInvalidUsage,
                    "stream: expected one that is not captured for the first call with these "
                    "arguments, got one that is");
  // No peer expects a notice in such a call. The peers wait until this rank makes the call.
  if (problem && (known || captured)) throw CallNotStarted(*problem);
  const CallInFlight in_flight(*watchdog_, *device_, sequence_);
  StreamCall call(*call_resources_, parameters, identity, ++number_);
  run_current(call, [&] {
    if (!known) {
      call.compare_arguments(problem ? &*problem : nullptr);
      if (shapes_.size() == kCachedShapes) shapes_.clear();  // in the same call on all ranks
      shapes_.insert(shape);
    }
    body(call);
  });
}

void StreamLink::run(const CallParameters& parameters, const CallIdentity& identity,
                     FunctionRef<void()> check, FunctionRef<void(AgreedCall&)> body) {
  run_stream(parameters, identity, check, [&](StreamCall& call) { body(call); });
}

void StreamLink::run_group(const CallParameters& parameters, const CallIdentity& identity,
                           FunctionRef<void()> check, std::span<const GroupTask> tasks) {
  run_stream(parameters, identity, check,
             [&](StreamCall& call) { StreamGroup(call, stacks_, tasks).run(); });
}

void StreamLink::run_unagreed(const CallParameters& parameters, const Descriptor& descriptor,
                              FunctionRef<void()> body) {
  const CallInFlight in_flight(*watchdog_, *device_, sequence_);
  StreamCall call(*call_resources_, parameters, descriptor, ++number_);
  run_current(call, body);
}

void StreamLink::run_current(StreamCall& call, FunctionRef<void()> body) {
  struct Current {
    StreamCall*& call;
    ~Current() { call = nullptr; }
  };
  const Current current{call_ = &call};
  with_first_failure(body);
}

void StreamLink::with_first_failure(FunctionRef<void()> work) {
  try {
    work();
  } catch (const Error&) {
    if (const auto found = watchdog_->failure()) throw Error(*found);
    throw;
  }
}

std::unique_ptr<Link> StreamLink::split(AgreedCall& call, const SplitArguments& arguments) {
  call.agree();
  auto child = transport_->split(arguments.color, arguments.key, call.deadline());
  return child ? std::make_unique<StreamLink>(std::move(child)) : nullptr;
}

void StreamLink::close(const Deadline& deadline) {
  device_->wait();
  watchdog_->stop();
  with_first_failure([&] { transport_->close(deadline); });
  closed_ = true;
}

void StreamLink::abort() noexcept {
  aborted_ = true;
  const Error why(sparsecollInvalidUsage, "aborted by sparsecollCommAbort");
  if (watchdog_)
    watchdog_->interrupt(why);
  else
    transport_->interrupt();
}

AbandonedMemory StreamLink::abandon(const Error*) noexcept {
  // NCCL leaves no message under way that could access memory later.
  transport_->interrupt();
  closed_ = true;
  return {};
}

}  // namespace sparsecoll
