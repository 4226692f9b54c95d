// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "api/backends.hpp"
#include "api/completions.hpp"
#include "api/config.hpp"
#include "api/flight_record.hpp"
#include "api/group.hpp"
#include "api/handles.hpp"
#include "api/health.hpp"
#include "api/network_model.hpp"
#include "api/pending_results.hpp"
#include "api/queue.hpp"
#include "api/shape_caches.hpp"
#include "api/statistics.hpp"
#include "api/timeline_file.hpp"
#include "calls/flight_recorder.hpp"
#include "calls/link.hpp"
#include "core/error.hpp"
#include "core/function_ref.hpp"

namespace sparsecoll {

/// Returns the system's number of the calling thread. Asks the system only once in each thread.
pid_t own_thread();

/// One rank's end of a communicator: its connection to the other ranks, the state that outlives a
/// call, and the way in which calls run.
///
/// Only one thread at a time is inside a communicator: enter() and leave() mark it. With
/// blocking = 0 the thread of the queue runs the calls. Any thread may call rank(), size(),
/// config(), sequence(), abort(), health(), statistics(), completions() and the functions of flight
/// records, and those methods of this class, backends() and queue() that say so.
class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  /// `parent`: the communicator from which this one is split. Its ranks are on the same nodes.
  Communicator(std::unique_ptr<Link> link, Config config, const Communicator* parent = nullptr);
  /// Ends queued calls with an abort. Destroys the residuals and push-sum states.
  ~Communicator();

  int rank() const { return link_->rank(); }
  int size() const { return link_->size(); }
  const Config& config() const { return config_; }
  Link& link() { return *link_; }
  const Link& link() const { return *link_; }
  Backends& backends() { return backends_; }
  const Backends& backends() const { return backends_; }
  /// Returns where the threads of this rank run.
  const ThreadPlacement& placement() const { return placement_; }
  Health& health() { return health_; }
  const Health& health() const { return health_; }
  const Statistics& statistics() const { return statistics_; }
  ShapeCaches& shape_caches() { return shape_caches_; }
  const ShapeCaches& shape_caches() const { return shape_caches_; }
  NetworkModel& network_model() { return network_model_; }
  const NetworkModel& network_model() const { return network_model_; }
  PendingResults& pending_results() { return pending_results_; }
  Group& group() { return group_; }
  OwnedHandles<Residual>& residuals() { return residuals_; }
  OwnedHandles<PushSumState>& push_sums() { return push_sums_; }
  Completions& completions() { return completions_; }
  /// Null with blocking = 1.
  Queue* queue() { return queue_.get(); }
  const Queue* queue() const { return queue_.get(); }

  /// Returns whether this process is a child, forked from the one that made the communicator. The
  /// child has neither its threads nor the right to its messages, and its locks may be held for
  /// ever: nothing else of the communicator may be used.
  bool is_inherited() const { return generation_ != process_generation(); }

  /// Lets the calling thread in, for a function with this name, which is static text. Returns false
  /// if a thread is inside.
  bool enter(const char* operation);
  void leave() { inside_.store(0, std::memory_order_release); }
  /// Returns whether the calling thread is inside. Any thread may call it.
  bool is_inside() const { return inside_ == own_thread(); }
  /// Returns the reason why enter() has refused a thread. Any thread may call it.
  Error refusal(const char* operation) const;

  // --- from initialisation to the end (docs/architecture.md)
  /// Initialises the communicator together with the other ranks, before `deadline`, and returns its
  /// handle. `problem`: what is wrong with this rank's arguments. Throws if any rank fails; the
  /// other ranks are then notified, too. `committed`: the last call that counts in a
  /// shrink, or null. Over NCCL it becomes the smallest number of all ranks.
  void* initialize(const std::optional<Error>& problem, const Deadline& deadline,
                   uint64_t* committed = nullptr);
  /// Ends the initialisation: verbs may be called. Throws SystemError if there is no thread for the
  /// queue.
  void start();
  /// Sets the node and the groups of each rank, for ranks that need not exchange them.
  void set_topology(const RankPath& path, const Topology& topology);
  /// Returns the nodes and groups of the ranks. Throws InvalidUsage if the ranks have not exchanged
  /// them yet.
  const Topology& topology() const;
  /// Sets the number by which the name of the timeline's file identifies this communicator among
  /// those of its process.
  void set_number(uint64_t number) { number_ = number; }
  /// Ends the communicator. Collective if Link::close_is_collective(). Throws InvalidUsage if peers
  /// made another call; the communicator is unchanged then.
  void close();
  /// Makes all calls fail, those in progress, too. Any thread may call it.
  void abort() noexcept;
  /// If the communicator is poisoned, notifies the peers, unless they were notified before. Without
  /// this an abort between calls is known to them only when their deadlines pass.
  void notify_of_poison();
  /// Returns how often abort() was called. Any thread may call it.
  uint64_t aborts() const { return aborts_; }
  /// While a split or a shrink makes `child`, abort() of this communicator also aborts the child.
  /// Null ends that.
  void set_child(std::shared_ptr<Communicator> child);

  // --- calls
  /// Number of the last collective call that was made or queued.
  uint64_t sequence() const { return completions_.issued(); }
  /// Number of the last committed call: it has changed all ranks that took part, or none of them.
  uint64_t committed() const { return committed_; }
  /// Number of the last call that all ranks are known to have made.
  uint64_t agreed() const { return agreed_; }
  /// Makes this the communicator of the ranks that remain of `origin`. Its calls are numbered from
  /// this number on. Called before the first call.
  void continue_from(const std::shared_ptr<Communicator>& origin, uint64_t committed);
  /// Returns the number of the last call of `origin` that counts, if this communicator continues
  /// `origin`, directly or through others; see continue_from().
  std::optional<uint64_t> committed_in(const Communicator& origin) const;
  /// Number of the collective call that runs, or else of the last one that ran.
  uint64_t running_call() const { return running_call_; }
  /// Runs `begin`, which makes or queues a collective call. If it runs out of memory, poisons the
  /// communicator: the peers are notified instead of waiting for their deadlines.
  void begin_call(FunctionRef<void()> begin);
  /// Runs `body`, the whole work of a function or of a queued task. An InternalError, or an
  /// exception of another library, poisons the communicator.
  void contain(FunctionRef<void()> body);
  /// Queues a collective call. Requires a queue.
  void enqueue(const char* name, std::function<void()> task);
  /// Runs the next collective call. `check` throws InvalidArgument or InvalidUsage for bad
  /// arguments of this rank; `body` exchanges, confirms and commits. Rethrows any error after all
  /// ranks know of it; a fatal error poisons the communicator. Without `deadline` the call's time
  /// begins now.
  void run_collective(const CallIdentity& identity, FunctionRef<void()> check,
                      FunctionRef<void(AgreedCall&)> body, std::optional<Deadline> deadline = {});
  /// Runs the verbs of a group as the next collective call. Errors are those of run_collective().
  void run_group(const CallIdentity& identity, FunctionRef<void()> check,
                 std::span<const GroupTask> tasks);
  /// Runs the next call without agreement, since this rank communicates with some ranks only. Every
  /// error is fatal.
  void run_without_agreement(Verb verb, FunctionRef<void(const CallParameters&)> body);

  // --- errors
  /// Throws the first fatal error, if there is one.
  void check_healthy() const { health_.check(); }
  /// Makes `error` the first fatal error, unless there is one; notifies the peers; gives up the
  /// link. Throws the first fatal error.
  [[noreturn]] void poison_and_throw(const Error& error);
  /// Waits for the queued calls, whose thread uses the link, and then does what poison_and_throw()
  /// does.
  [[noreturn]] void poison_when_idle(const Error& error);
  /// Writes the record of the last calls to this file, or to that of SPARSECOLL_FLIGHT_RECORDER if
  /// the name is empty. Throws InvalidArgument, SystemError.
  void write_flight_record(FlightRecordCause cause, const std::string& name) const;
  /// Writes the record as above, to the file of SPARSECOLL_FLIGHT_RECORDER if it is set. Logs a
  /// failure.
  void write_flight_record(FlightRecordCause cause) const noexcept;
  /// Keeps and logs the message of a failed C function. Returns the code of the error.
  sparsecollResult_t record_error(const char* operation, const Error& error);
  /// Throws the first error among the queued calls up to `number` that was not thrown before. Any
  /// thread may call it.
  void throw_queued_failure(uint64_t number);
  /// Waits until a collective call has ended, and throws InvalidArgument if there is none with this
  /// number. Any thread but those that make calls here may call.
  void wait_for_call(uint64_t number);
  /// Throws what throw_queued_failure() throws, or else the error of this call, which has ended.
  /// Any thread may call it.
  void throw_failure_of(uint64_t number);

  /// Waits for the device's work of all calls. With a stream: makes the stream wait instead.
  /// Poisons the communicator if the device fails.
  void wait_for_device(const std::optional<Stream>& stream);
  /// Waits for the device's work of all calls. Any thread may call it.
  void wait_for_device_outside();

  // --- notifications
  /// Calls the function when its call has ended: with blocking = 0 on the queue's thread, otherwise
  /// before this method returns. Any thread but those that make calls here may call.
  void notify(const Notification& notification);

  /// Logs a line about the call that runs, if SPARSECOLL_DEBUG asks for this level.
  template <class... Parts>
  void log(LogLevel level, const Parts&... parts) const noexcept {
    if (!log_.wants(level)) return;
    try {
      log_.write(level, text("call ", running_call_.load(), ": ", parts...));
    } catch (const std::exception&) {
      // A call does not fail because there is no memory for a line about it.
    }
  }

 private:
  struct Numbered {
    uint64_t sequence;
    Deadline deadline;
  };
  /// Makes the first call: the ranks agree on the configuration, and learn which of them share a
  /// node if residuals depend on that. Closes the link if they do not agree.
  void agree_on_config(const std::optional<Error>& problem, const Deadline& deadline,
                       uint64_t* committed);
  /// Counts a call and runs it with workspace. Poisons the communicator if the call fails fatally.
  void run_call(const Descriptor& call, const Deadline& deadline,
                FunctionRef<void(const CallParameters&)> body);
  /// Runs a call as above, after the call got its number.
  void run_numbered_call(const Descriptor& call, const Numbered& numbered,
                         FunctionRef<void(const CallParameters&)> body);
  /// Marks that a call that did not run on the queue's thread has ended.
  void end_call_outside_queue(uint64_t sequence);
  /// Calls the functions of the notifications that are due. Called on the queue's thread.
  void deliver_notifications() noexcept;
  /// Returns the result of a call that has ended, once its work on the device has ended, too.
  sparsecollResult_t final_result(uint64_t number);
  void log_result(const Stats& stats) const noexcept;
  /// Counts a call that did not fail, or was abandoned by all ranks.
  void count_committed(uint64_t verb, uint64_t sequence);
  /// Returns the deadline of a call that begins now.
  Deadline new_deadline() const { return Deadline::after(config_.values.timeoutMs); }
  /// Waits for the queued calls; aborts them at the deadline.
  void drain_queue(const Deadline& deadline);
  /// Gives up the link, once, and all memory that messages on their way may still use. Sends
  /// `notice` to the peers unless it is null.
  void abandon(const Error* notice);
  void write_timeline() noexcept;

  const uint64_t generation_ = process_generation();
  // The link, which may still use the members above it, is destroyed before them.
  Config config_;
  Log log_;
  TimelineFile timeline_file_;
  const ThreadPlacement placement_;
  Backends backends_;
  std::unique_ptr<Link> link_;
  Health health_;
  Statistics statistics_;
  ShapeCaches shape_caches_;
  const bool has_parent_;  ///< true: the ranks' nodes are those in the parent
  NetworkModel network_model_;
  PendingResults pending_results_;
  Group group_;
  OwnedHandles<Residual> residuals_;
  OwnedHandles<PushSumState> push_sums_;
  FlightRecorder recorder_;
  std::atomic<uint64_t> number_{0};  ///< 0: initialize() has made no handle
  std::atomic<pid_t> inside_{0};     ///< the thread that is inside the communicator; 0: none
  std::atomic<const char*> inside_for_{""};
  std::atomic<uint64_t> running_call_{0};
  uint64_t committed_ = 0;
  uint64_t agreed_ = 0;
  std::weak_ptr<Communicator> origin_;
  uint64_t origin_committed_ = 0;
  bool abandoned_ = false;
  bool closed_ = false;
  std::atomic<uint64_t> aborts_{0};
  std::mutex child_mutex_;
  std::shared_ptr<Communicator> child_;  ///< guarded by child_mutex_
  Completions completions_;
  std::unique_ptr<Queue> queue_;  ///< destroyed first: its thread uses all other members
};

}  // namespace sparsecoll
