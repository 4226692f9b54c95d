// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/stream/stream_link.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "calls/stream/stream_group.hpp"
#include "core/checksum.hpp"

namespace sparsecoll {

namespace {

constexpr size_t kCachedShapes = 4096;
constexpr const char* kAborted = "aborted by sparsecollCommAbort";

/// Returns a hash of the parts of a descriptor that do not change from call to call.
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
    if (captured_) return;
    watchdog.ended();  // counts the calls for which the program has waited
    watchdog.begin_call(sequence);
  }
  ~CallInFlight() {
    if (!captured_) watchdog_.end_call(device_);
  }
  CallInFlight(const CallInFlight&) = delete;
  CallInFlight& operator=(const CallInFlight&) = delete;

 private:
  StreamWatchdog& watchdog_;
  Device& device_;
  const bool captured_ = device_.captured();  ///< The watchdog does not watch graphs.
};

}  // namespace

StreamLink::StreamLink(std::unique_ptr<StreamTransport> transport)
    : transport_(std::move(transport)) {}

StreamLink::~StreamLink() {
  watchdog_.reset();
  if (!closed_) transport_->interrupt();
}

void StreamLink::attach(Device& device) {
  device_ = &device;
  device.begin(std::nullopt);  // makes the device the current one
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
      if (shapes_.size() == kCachedShapes) shapes_.clear();  // all ranks do so in the same call
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
  // The queued part of a call that fails may still run to its end. Such a call must not count as
  // one that has ended.
  try {
    with_first_failure(body);
  } catch (const Error& error) {
    if (fatal(error.code())) watchdog_->interrupt(error);
    throw;
  } catch (const std::bad_alloc&) {
    watchdog_->interrupt(Error(sparsecollSystemError, "out of memory"));
    throw;
  } catch (...) {
    watchdog_->interrupt(Error(sparsecollInternalError, "an exception in a call"));
    throw;
  }
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

void StreamLink::shrink(const ShrinkArguments& arguments,
                        FunctionRef<void(ShrunkLink)> initialize) {
  if (!arguments.excluded) {
    if (arguments.problem) throw Error(*arguments.problem);
    fail(sparsecollInvalidArgument,
         "exclude: expected a list over NCCL, which does not tell which ranks are gone, got NULL");
  }
  const Deadline deadline = Deadline::after(arguments.timeout_ms);
  std::unique_ptr<StreamTransport> made;
  const uint64_t committed = while_shrinking([&] {
    end_work(deadline.part(50));
    made = transport_->shrink(*arguments.excluded, deadline.part(90));
    return watchdog_->failure() ? std::min(arguments.committed, ended()) : arguments.committed;
  });
  initialize({std::make_unique<StreamLink>(std::move(made)), committed, deadline.part(100),
              arguments.problem});
}

uint64_t StreamLink::while_shrinking(FunctionRef<uint64_t()> work) {
  {
    const std::lock_guard lock(shrinking_mutex_);
    shrinking_ = true;
    shrink_aborted_ = false;
  }
  const auto end = [this] {
    const std::lock_guard lock(shrinking_mutex_);
    shrinking_ = false;
    return shrink_aborted_;
  };
  try {
    const uint64_t result = work();
    if (end()) fail(sparsecollInvalidUsage, kAborted);
    return result;
  } catch (const Error&) {
    if (end()) fail(sparsecollInvalidUsage, kAborted);
    throw;
  } catch (...) {
    end();
    throw;
  }
}

void StreamLink::end_work(const Deadline& deadline) {
  while (!watchdog_->failure() && !watchdog_->idle()) {
    if (deadline.passed())
      return watchdog_->interrupt(
          Error(sparsecollTimeout,
                "a shrink began, and earlier calls had not ended when half of "
                "its time had passed"));
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

void StreamLink::close(const Deadline& deadline) {
  device_->wait();
  watchdog_->stop();
  with_first_failure([&] { transport_->close(deadline); });
  closed_ = true;
}

void StreamLink::abort() noexcept {
  aborted_ = true;
  const Error why(sparsecollInvalidUsage, kAborted);
  {
    const std::lock_guard lock(shrinking_mutex_);
    shrink_aborted_ = shrinking_;
    if (shrinking_) transport_->interrupt_shrink();
  }
  if (watchdog_)
    watchdog_->interrupt(why);
  else
    transport_->interrupt();
}

AbandonedMemory StreamLink::abandon(const Error* notice) noexcept {
  // NCCL leaves no message under way that could access memory later.
  if (watchdog_ && notice)
    watchdog_->interrupt(*notice);  // this also records which calls had ended
  else
    transport_->interrupt();
  closed_ = true;
  return {};
}

}  // namespace sparsecoll
