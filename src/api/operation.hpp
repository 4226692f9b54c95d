// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <type_traits>

#include "api/arguments.hpp"
#include "api/bridge.hpp"
#include "api/communicator.hpp"

namespace sparsecoll {

/// One verb in progress, whose arguments were checked.
struct Invocation {
  Communicator& communicator;
  AgreedCall& call;
  const Descriptor& descriptor;  ///< the arguments on which the ranks agree
  uint64_t shape;                ///< their hash, by which the cache is found
  ShapeCache& cache;             ///< the cache of this shape, which the commit stores
};

/// The caller's memory that a verb reads and writes.
struct MemoryUse {
  std::vector<ByteRange> reads;
  std::vector<ByteRange> writes;
  Residual* residual = nullptr;
};

/// A verb with its arguments by value, so that it may run later and on another thread.
class Operation {
 public:
  virtual ~Operation() = default;

  virtual Descriptor descriptor() const = 0;
  /// Locates the buffers. Called in the caller's thread if the verb will run later.
  void mark(Communicator& communicator) noexcept { context_.mark(communicator, buffers()); }
  /// Throws InvalidUsage if the stream is captured: groups wait on the host. Called when the verb
  /// is recorded in a group.
  void join_group() { context_.forbid_capture(); }
  /// Throws InvalidArgument for bad arguments of this rank.
  void check(Communicator& communicator) {
    context_.enter(communicator, buffers());
    check_arguments(communicator);
  }
  /// Returns the caller's memory that the verb uses. Valid after check().
  MemoryUse memory_use() const {
    MemoryUse use = buffers_in_use();
    use.residual = residual_in_use();
    return use;
  }
  /// Returns the residual that the verb updates; null if there is none. Valid after check().
  virtual Residual* residual_in_use() const { return nullptr; }
  /// Exchanges, confirms, then writes outputs and state. Throws Truncated if an output was too
  /// small, after everything else is done.
  virtual void run(const Invocation& invocation) = 0;

 protected:
  /// Returns the backend and stream on which the verb works. Valid after check().
  const ExecutionContext& context() const { return context_; }
  ExecutionContext& context() { return context_; }

 private:
  /// Returns the buffers among the arguments, which need not have been checked yet.
  virtual Buffers buffers() const noexcept = 0;
  /// Returns memory_use() without the residual.
  virtual MemoryUse buffers_in_use() const = 0;
  virtual void check_arguments(Communicator& communicator) = 0;

  ExecutionContext context_;
};

/// Returns the descriptor with the hash of the shape's cache, on which the ranks must agree,
/// too.
Descriptor with_cache_hash(Descriptor shape, const ShapeCache& cache);
/// Runs a verb whose arguments were checked, within a call that is in progress.
void invoke(Operation& operation, const Invocation& invocation);
/// Runs one verb as the next collective call. Returns when it is done.
void run(Communicator& communicator, Operation& operation);
/// Runs one verb after the queued calls. Returns when it is done. Throws the error of the verb.
void run_and_wait(Communicator& communicator, Operation& operation);

/// Runs a verb for its C function: adds it to the open group, or queues it if calls do not block,
/// or runs it. Queued calls may still write counts into structs to which an operation points, so
/// that it reads them only when it runs.
template <class Call>
sparsecollResult_t submit(Verb verb, Call call, sparsecollComm_t comm) {
  const char* const name = verb_name(static_cast<uint64_t>(verb));
  return on_entered(name, comm, [&](Communicator& communicator) {
    communicator.check_healthy();
    communicator.begin_call([&] {
      if (communicator.group().open())
        return communicator.group().record(std::make_unique<Call>(std::move(call)));
      if (!communicator.queue()) return run(communicator, call);
      const auto kept = std::make_shared<Call>(std::move(call));
      kept->mark(communicator);
      communicator.enqueue(name, [&communicator, kept] { run(communicator, *kept); });
    });
    return sparsecollSuccess;
  });
}

/// Runs a local function on the caller's buffers at once or queued, as submit() runs a verb.
/// `body(Communicator&, const ExecutionContext&)` holds its arguments by value and throws.
template <class Body>
sparsecollResult_t submit_local(const char* operation, sparsecollComm_t comm,
                                const Buffers& buffers, Body body) {
  return on_entered(operation, comm, [&](Communicator& communicator) {
    communicator.check_healthy();
    const auto work = [&communicator, buffers, body](ExecutionContext context) {
      const Workspace workspace(communicator.backends());
      context.enter(communicator, buffers);
      body(communicator, context);
    };
    ExecutionContext context;
    if (!communicator.queue()) {
      work(context);
    } else {
      context.mark(communicator, buffers);
      communicator.queue()->push(Queue::Kind::local, operation, [&communicator, work, context] {
        communicator.check_healthy();
        communicator.contain([&] { work(context); });
      });
    }
    return sparsecollSuccess;
  });
}

}  // namespace sparsecoll
