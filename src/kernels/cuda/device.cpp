// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
//
// A communicator's share of a CUDA device. Orders the work on its streams.
#include "kernels/device.hpp"

#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/driver.hpp"
#include "kernels/cuda/runtime.hpp"
#include "kernels/cuda/stamps.hpp"

namespace sparsecoll {

using cuda::check;
using cuda::CudaEvent;
using cuda::CudaStream;
using cuda::CurrentDevice;

namespace {

class CudaDevice final : public Device {
 public:
  CudaDevice(int number, MessageLocation messages, Timeline* timeline) : number_(number) {
    const CurrentDevice current(number);
    memory_ = std::make_shared<cuda::DeviceMemory>();
    page_locked_ = std::make_shared<cuda::PageLockedMemory>(number);
    receive_memory_ = std::make_shared<cuda::ReceiveMemory>(number);
    last_.emplace();
    own_stream_.emplace();
    backend_.emplace(own_stream_->get(), messages);
    if (timeline) backend_->staging().record_spans_in(timeline_.emplace(*timeline));
    cuda::load_kernels(one_kernel_per_file());
  }
  ~CudaDevice() override {
    try {
      const CurrentDevice current(number_);
      last_->wait();
      captures_.clear();
      backend_.reset();
      timeline_.reset();
      own_stream_.reset();
    } catch (const Error&) {
      // The device is lost: there is nothing to wait for.
    }
  }

  int number() const override { return number_; }
  const std::shared_ptr<Memory>& memory() const override { return memory_; }
  const std::shared_ptr<Memory>& page_locked() override { return page_locked_; }
  const std::shared_ptr<Memory>& receive_memory() override { return receive_memory_; }
  std::shared_ptr<const void> make_current() override {
    return std::make_shared<CurrentDevice>(number_);
  }

  std::shared_ptr<Event> mark(Stream stream) override {
    const CurrentDevice current(number_);
    auto event = std::make_shared<CudaEvent>();
    event->record(stream);
    return event;
  }

  void begin(std::optional<Stream> stream) override {
    rethrow_failure();
    if (!call_) start(stream_of_call(stream));
    if (stream && *stream != backend_->stream()) join(*stream);
  }
  void begin_captured(Stream stream) override {
    rethrow_failure();
    captures_.emplace_back(number_, stream, backend_->messages());
    call_.emplace(number_, captures_.back().backend, true);
  }
  bool captured() const override { return call_ && call_->captured; }
  void wait_for(const Event& event) override {
    static_cast<const CudaEvent&>(event).make_wait(call_->backend.stream());
  }
  bool begun() const override { return call_.has_value(); }
  Stream stream() const override { return call_->backend.stream(); }

  Kernels& kernels(DataType data_type, IndexType index_type, size_t block_size) override {
    for (const auto& each : call_->kernels)
      if (each->data_type() == data_type && each->index_type() == index_type &&
          each->block_size() == block_size && !each->scale_bits())
        return *each;
    call_->kernels.push_back(make_cuda_kernels(data_type, index_type, call_->backend, block_size));
    return *call_->kernels.back();
  }

  std::shared_ptr<Event> event() override {
    auto event = std::make_shared<CudaEvent>();
    event->record(stream());
    return event;
  }
  std::shared_ptr<Event> run_concurrently(FunctionRef<void()> work) override {
    if (!side_stream_) side_stream_.emplace();
    cuda::Backend& backend = call_->backend;
    const Stream stream = backend.stream();
    CudaEvent fork;
    fork.record(stream);
    fork.make_wait(side_stream_->get());
    backend.move_to(side_stream_->get());
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
    const CurrentDevice current(number_);
    return static_cast<const CudaEvent&>(event).passed();
  }

  void put_stamps(std::span<std::byte* const> messages, const Stamp& stamp) override {
    cuda::put_stamps(call_->backend, messages, stamp);
  }
  void check_stamps(std::span<const StampedMessage> messages, const Stamp& expected,
                    Alarm* alarm) override {
    cuda::check_stamps(call_->backend, messages, expected, alarm);
  }
  void add_counts(const CallCounts& counts, const DeviceReport& report) override {
    cuda::add_counts(call_->backend, counts, report);
  }
  void timed(const char* name, size_t bytes, FunctionRef<void()> work) override {
    const cuda::DeviceTimeline::Scope span(
        call_->backend.timeline(), {name, {"bytes", bytes}, Timeline::Lane::exchange}, stream());
    work();
  }

  void end(bool failed) noexcept override {
    if (!call_) return;
    if (call_->captured) {
      call_->backend.move_to(own_stream_->get());  // the caller may destroy its stream
      return call_.reset();
    }
    try {
      if (failed) backend_->wait();
      const std::lock_guard lock(mutex_);
      last_->record(backend_->stream());
      for (const Stream joined : call_->joined) last_->make_wait(joined);
    } catch (const Error&) {
      drain();
    }
    backend_->move_to(own_stream_->get());  // the caller may destroy its stream
    backend_->staging().reset();
    call_.reset();
  }

  void order_after_calls(Stream stream) override {
    const CurrentDevice current(number_);
    const std::lock_guard lock(mutex_);
    rethrow_failure();
    last_->make_wait(stream);
  }
  void wait() override {
    const CurrentDevice current(number_);
    {
      const std::lock_guard lock(mutex_);
      rethrow_failure();
    }
    last_->wait();  // without the lock, which calls need that end meanwhile
  }
  size_t leak() noexcept override {
    return backend_->slabs().leak() + backend_->device_slabs().leak();
  }
  void finish_timeline() noexcept override {
    if (!timeline_) return;
    try {
      const CurrentDevice current(number_);
      timeline_->finish();
    } catch (const Error&) {
      // The device is lost and records no more spans.
    }
  }

 private:
  /// The state of a device from begin() to end().
  struct CallState {
    CallState(int device, cuda::Backend& where, bool is_captured)
        : current(device),
          backend(where),
          captured(is_captured),
          scope(where.arena()),
          messages(where.slabs()),
          device_messages(where.device_slabs()) {}
    CurrentDevice current;
    cuda::Backend& backend;
    bool captured;
    Arena::Scope scope;
    Arena::Scope messages;
    Arena::Scope device_messages;
    std::vector<std::unique_ptr<Kernels>> kernels;
    std::vector<Stream> joined;
  };

  /// A call that is captured into a graph. It keeps its workspace until the communicator ends.
  struct CapturedCall {
    CapturedCall(int device, Stream stream, MessageLocation messages)
        : current(std::in_place, device),
          backend(stream, messages),
          scope(backend.arena()),
          slabs(backend.slabs()) {
      current.reset();
    }
    std::optional<CurrentDevice> current;  ///< set while the object is constructed
    cuda::Backend backend;
    Arena::Scope scope, slabs;
  };

  /// Waits for all work, if an event could not be recorded to wait for it in stream order.
  void drain() noexcept {
    try {
      backend_->wait();
    } catch (const Error&) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
    }
  }
  void rethrow_failure() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  /// Returns the stream that a call runs on. A call on the per-thread default stream runs on the
  /// communicator's stream, because the default stream is another one in every thread that makes a
  /// call or ends the communicator.
  Stream stream_of_call(const std::optional<Stream>& stream) const {
    return stream && *stream != cudaStreamPerThread ? *stream : own_stream_->get();
  }

  void start(Stream stream) {
    call_.emplace(number_, *backend_, false);
    backend_->move_to(stream);
    last_->make_wait(stream);  // the last call may still use the workspace
    if (timeline_) timeline_->begin();
  }

  /// Makes the call wait for another of its streams.
  void join(Stream stream) {
    CudaEvent event;
    event.record(stream);
    event.make_wait(backend_->stream());
    call_->joined.push_back(stream);
  }

  const int number_;
  std::shared_ptr<Memory> memory_, page_locked_, receive_memory_;
  std::mutex mutex_;               ///< guards the members that other threads may wait for
  std::optional<CudaEvent> last_;  ///< the end of the last call
  std::optional<CudaStream> own_stream_, side_stream_;
  std::optional<cuda::DeviceTimeline> timeline_;  ///< the timeline of calls that are not captured
  std::optional<cuda::Backend> backend_;
  std::deque<CapturedCall> captures_;
  std::optional<CallState> call_;
  std::exception_ptr failure_;  ///< the device's error; every later call throws it
};

}  // namespace

std::unique_ptr<Device> make_device(int number, MessageLocation messages, Timeline* timeline) {
  return std::make_unique<CudaDevice>(number, messages, timeline);
}

}  // namespace sparsecoll
