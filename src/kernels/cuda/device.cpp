// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// One communicator's end of a device by CUDA: in which order streams do what.
#include "kernels/device.hpp"

#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/driver.hpp"
#include "kernels/cuda/stamps.hpp"
#include "kernels/cuda/streams.hpp"

namespace sparsecoll {

using cuda::check;
using cuda::CudaEvent;
using cuda::Current;
using cuda::OwnStream;

namespace {

class CudaDevice final : public Device {
 public:
  CudaDevice(int number, MessageLocation messages, Timeline* timeline) : number_(number) {
    const Current current(number);
    memory_ = std::make_shared<cuda::DeviceMemory>();
    page_locked_ = std::make_shared<cuda::PageLockedMemory>(number);
    landing_ = std::make_shared<cuda::LandingMemory>(number);
    last_.emplace();
    own_.emplace();
    backend_.emplace(own_->get(), messages);
    if (timeline) backend_->ferry().record_in(timeline_.emplace(*timeline));
    cuda::load_kernels(some_cuda_kernels());
  }
  ~CudaDevice() override {
    try {
      const Current current(number_);
      last_->wait();
      captures_.clear();
      backend_.reset();
      timeline_.reset();
      own_.reset();
    } catch (const Error&) {
      // A device that is lost has nothing left to wait for.
    }
  }

  int number() const override { return number_; }
  const std::shared_ptr<Memory>& memory() const override { return memory_; }
  const std::shared_ptr<Memory>& page_locked() override { return page_locked_; }
  const std::shared_ptr<Memory>& landing() override { return landing_; }
  std::shared_ptr<const void> stay_current() override { return std::make_shared<Current>(number_); }

  std::shared_ptr<Event> mark(Stream stream) override {
    const Current current(number_);
    auto event = std::make_shared<CudaEvent>();
    event->record(stream);
    return event;
  }

  void begin(std::optional<Stream> stream) override {
    tell_failure();
    if (!call_) start(work_stream(stream));
    if (stream && *stream != backend_->stream()) join(*stream);
  }
  void begin_captured(Stream stream) override {
    tell_failure();
    captures_.emplace_back(number_, stream, backend_->messages());
    call_.emplace(number_, captures_.back().backend, true);
  }
  bool captured() const override { return call_ && call_->captured; }
  void wait_for(const Event& event) override {
    static_cast<const CudaEvent&>(event).hold(call_->backend.stream());
  }
  bool begun() const override { return call_.has_value(); }
  Stream stream() const override { return call_->backend.stream(); }

  Kernels& kernels(DataType data_type, IndexType index_type) override {
    for (const auto& each : call_->kernels)
      if (each->data_type() == data_type && each->index_type() == index_type) return *each;
    call_->kernels.push_back(make_cuda_kernels(data_type, index_type, call_->backend));
    return *call_->kernels.back();
  }

  std::shared_ptr<Event> event() override {
    auto event = std::make_shared<CudaEvent>();
    event->record(stream());
    return event;
  }
  std::shared_ptr<Event> run_concurrently(FunctionRef<void()> work) override {
    if (!aside_) aside_.emplace();
    cuda::Backend& backend = call_->backend;
    const Stream stream = backend.stream();
    CudaEvent fork;
    fork.record(stream);
    fork.hold(aside_->get());
    backend.move_to(aside_->get());
    try {
      work();
      std::shared_ptr<Event> done = event();
      backend.move_to(stream);
      return done;
    } catch (...) {
      backend.move_to(stream);
      throw;
    }
  }
  bool passed(const Event& event) override {
    const Current current(number_);
    return static_cast<const CudaEvent&>(event).passed();
  }

  void put_stamps(std::span<std::byte* const> messages, const Stamp& stamp) override {
    cuda::put_stamps(call_->backend, messages, stamp);
  }
  void check_stamps(std::span<const StampedMessage> messages, const Stamp& expected,
                    Alarm* alarm) override {
    cuda::check_stamps(call_->backend, messages, expected, alarm);
  }
  void settle(const CallCounts& counts, const DeviceReport& books) override {
    cuda::settle(call_->backend, counts, books);
  }
  void timed(const char* name, size_t bytes, FunctionRef<void()> work) override {
    const cuda::DeviceTimeline::Span span(
        call_->backend.timeline(), {name, {"bytes", bytes}, Timeline::Lane::exchange}, stream());
    work();
  }

  void end(bool failed) noexcept override {
    if (!call_) return;
    if (call_->captured) {
      call_->backend.move_to(own_->get());  // as below
      return call_.reset();
    }
    try {
      if (failed) backend_->wait();
      const std::lock_guard lock(mutex_);
      last_->record(backend_->stream());
      for (const Stream joined : call_->joined) last_->hold(joined);
    } catch (const Error&) {
      finish();
    }
    backend_->move_to(own_->get());  // the caller's may be gone soon
    backend_->ferry().forget();
    call_.reset();
  }

  void order(Stream stream) override {
    const Current current(number_);
    const std::lock_guard lock(mutex_);
    tell_failure();
    last_->hold(stream);
  }
  void wait() override {
    const Current current(number_);
    {
      const std::lock_guard lock(mutex_);
      tell_failure();
    }
    last_->wait();  // not of calls that end meanwhile, which would have to wait too
  }
  size_t leak() noexcept override {
    return backend_->slabs().leak() + backend_->hidden_slabs().leak();
  }
  void record_rest() noexcept override {
    if (!timeline_) return;
    try {
      const Current current(number_);
      timeline_->finish();
    } catch (const Error&) {
      // A device that is lost tells nothing more.
    }
  }

 private:
  /// What lasts from begin() to end().
  struct Call {
    Call(int device, cuda::Backend& where, bool is_captured)
        : current(device),
          backend(where),
          captured(is_captured),
          scope(where.arena()),
          messages(where.slabs()),
          hidden(where.hidden_slabs()) {}
    Current current;
    cuda::Backend& backend;
    bool captured;
    Arena::Scope scope;
    Arena::Scope messages;
    Arena::Scope hidden;
    std::vector<std::unique_ptr<Kernels>> kernels;
    std::vector<Stream> joined;
  };

  /// A call that is part of a graph: its workspace does not go back when the call ends.
  struct Captured {
    Captured(int device, Stream stream, MessageLocation messages)
        : current(std::in_place, device),
          backend(stream, messages),
          scope(backend.arena()),
          slabs(backend.slabs()) {
      current.reset();
    }
    std::optional<Current> current;  ///< while it is made
    cuda::Backend backend;
    Arena::Scope scope, slabs;
  };

  /// Where nothing can be put in order: until there is nothing left.
  void finish() noexcept {
    try {
      backend_->wait();
    } catch (const Error&) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
    }
  }
  void tell_failure() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  /// That of the calling thread is another one in each thread that makes calls, or ends the
  /// communicator.
  Stream work_stream(const std::optional<Stream>& stream) const {
    return stream && *stream != cudaStreamPerThread ? *stream : own_->get();
  }

  void start(Stream stream) {
    call_.emplace(number_, *backend_, false);
    backend_->move_to(stream);
    last_->hold(stream);  // the workspace may still be used by the last call
    if (timeline_) timeline_->begin();
  }

  /// Another stream of the same call.
  void join(Stream stream) {
    CudaEvent event;
    event.record(stream);
    event.hold(backend_->stream());
    call_->joined.push_back(stream);
  }

  const int number_;
  std::shared_ptr<Memory> memory_, page_locked_, landing_;
  std::mutex mutex_;               ///< of what other threads may wait for
  std::optional<CudaEvent> last_;  ///< the end of the last call
  std::optional<OwnStream> own_, aside_;
  std::optional<cuda::DeviceTimeline> timeline_;  ///< of calls that are not captured
  std::optional<cuda::Backend> backend_;
  std::deque<Captured> captures_;
  std::optional<Call> call_;
  std::exception_ptr failure_;  ///< of the device: nothing more can be done with it
};

}  // namespace

std::unique_ptr<Device> make_device(int number, MessageLocation messages, Timeline* timeline) {
  return std::make_unique<CudaDevice>(number, messages, timeline);
}

}  // namespace sparsecoll
