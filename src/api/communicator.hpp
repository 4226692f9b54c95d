// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "api/config.hpp"
#include "api/queue.hpp"
#include "calls/link.hpp"
#include "collectives/algorithm.hpp"
#include "collectives/network.hpp"
#include "collectives/topology.hpp"
#include "core/error.hpp"
#include "core/function_ref.hpp"
#include "kernels/device.hpp"
#include "kernels/host/backend.hpp"

namespace sparsecoll {

/// A result that did not fit, kept for sparsecollFetch().
struct PendingResult {
  const void* recv = nullptr;  ///< address of the caller's struct
  Block indices;
  Block values;
  size_t nnz = 0;
  std::vector<size_t> from;  ///< sparse all-to-all: entries of each source rank
  uint64_t count = 0;
  DataType data_type = DataType::float32;
  IndexType index_type = IndexType::index32;
  int device = kHost;
};

class Operation;
struct Invocation;

/// What is known of the calls of the shape with this hash.
struct CachedShape {
  uint64_t shape;
  ShapeCache cache;
};

/// One rank's end of a communicator.
class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  /// `node`: the number of this rank's node where it is known from a communicator of which this one
  /// is a part.
  Communicator(std::unique_ptr<Link> link, Config config, std::optional<uint64_t> node = {});
  ~Communicator();

  int rank() const { return link_->rank(); }
  int size() const { return link_->size(); }
  const Config& config() const { return config_; }
  Arena& arena() { return arena_; }
  Memory& memory() { return *memory_; }
  const std::shared_ptr<Memory>& shared_memory() const { return memory_; }

  // --- places: kHost and at most one device (site.hpp)
  /// The device whose memory it takes beside the host's; kHost: none, or not known yet.
  int device() const;
  /// Whether it takes memory of that device; the first one decides where nobody has.
  bool works_on(int device);
  /// Its end of that device, which it works on.
  Device& device_end(int device);
  /// From now on messages may come straight to it. In the thread of a call of which it is the
  /// current device.
  void land_on_device();
  /// Null before the first call with its memory.
  Device* device_end() { return device_seen_; }
  /// Until the device's work of all calls is done, where a device that is lost poisons the
  /// communicator; with a stream, what is queued there comes after it. No call is queued.
  void wait_for_device(const std::optional<Stream>& stream);
  /// For the call that entered the place.
  Kernels& kernels_at(int device, DataType type, IndexType index);
  const std::shared_ptr<Memory>& memory_at(int device);
  /// Of the last call; a group may leave several, and then any may be asked for.
  bool last_was_group() const { return last_was_group_; }
  std::vector<std::unique_ptr<PendingResult>>& pending_results() { return pending_results_; }
  /// Handles of the residuals that end with this communicator.
  std::vector<void*>& residuals() { return residuals_; }
  /// The same of its push-sum states.
  std::vector<void*>& push_sums() { return push_sums_; }
  /// What tells its timeline from others of its rank in this process.
  void set_number(uint64_t number) { number_ = number; }
  Link& link() { return *link_; }
  const Link& link() const { return *link_; }
  /// Number of the last collective call that was made or queued.
  uint64_t sequence() const { return queue_ ? queue_->issued() : sequence_.load(); }
  /// Null where calls block.
  Queue* queue() { return queue_.get(); }
  const Queue* queue() const { return queue_.get(); }

  /// One thread at a time: false when another is inside.
  bool enter() { return !busy_.exchange(true); }
  void leave() { busy_ = false; }

  /// Runs the next collective call. `check` throws InvalidArgument or InvalidUsage for what this
  /// rank should not have passed; `body` exchanges, confirms and commits. Throws whatever went
  /// wrong, after all ranks know; a fatal error poisons the communicator.
  void collective(const Agreed& agreed, FunctionRef<void()> check,
                  FunctionRef<void(AgreedCall&)> body);
  /// Runs a call that counts but hears only some ranks, so that nothing is agreed on and every
  /// failure is fatal.
  void unagreed(Verb verb, FunctionRef<void(const CallParameters&)> body);
  /// Runs `begin`, this rank's way into a collective call, from its C function or the queue. Where
  /// there is no memory to begin it, or to queue it, the peers are told instead of left to their
  /// deadlines: the communicator is poisoned.
  void take_part(FunctionRef<void()> begin);
  /// Takes its place among the ranks that make this communicator, within the deadline of that call;
  /// `problem` is what was wrong with this rank's arguments. Returns the handle. What goes wrong
  /// the other ranks are told.
  void* join(const std::optional<Error>& problem, const Deadline& deadline);
  /// The handle of a communicator of the ranks of one color, ordered by key; null without a color.
  /// Collective; `check` gives the new one's configuration or throws InvalidArgument.
  void* split(FunctionRef<Config()> check, int color, int key);
  /// From now on calls are made; for those communicators that have nothing to agree on, too. Throws
  /// SystemError where queued calls get no thread.
  void start();
  /// Ends it: collective where the link wants that. Throws InvalidUsage when peers made
  /// another call; nothing happened then.
  void close();
  void abort() noexcept;

  /// Throws the first fatal error if there was one.
  void check_healthy() const;
  sparsecollResult_t poison() const;
  /// Remembers what went wrong for sparsecollGetLastError(); gives the code back.
  sparsecollResult_t note(const char* operation, const Error& error);
  const char* last_error() const;
  /// Throws the first error of the queued calls up to `number` that nobody was told of.
  void report(uint64_t number);

  void add_up(const Stats& call);
  Stats stats(bool total) const;
  size_t abandoned_bytes() const { return abandoned_bytes_; }

  /// Runs one verb, or the verbs of a group, as the next collective call.
  void run(Operation& operation);
  void run(const std::vector<std::unique_ptr<Operation>>& calls);
  /// The same in its turn behind the queued calls, complete on return.
  void run_and_wait(Operation& operation);
  /// Queues a collective call.
  void enqueue(const char* name, std::function<void()> task);

  // --- groups (group.cpp)
  bool grouping() const { return group_depth_ > 0; }
  /// Throws InvalidUsage while a group is open.
  void refuse_in_group() const;
  void open_group();
  void close_group();
  void record(std::unique_ptr<Operation> operation);

  /// What earlier calls of this shape left.
  ShapeCache cache(const Descriptor& shape) const;
  /// What the next calls of the shape with this hash start from.
  void store_cache(uint64_t shape, const ShapeCache& cache);
  /// The same of several: all of them or, with std::bad_alloc, none.
  void store_caches(std::span<const CachedShape> all);
  /// Null when nothing is known of it.
  const ShapeCache* find_cache(uint64_t shape) const;
  /// What messages cost; nothing before a call has measured it.
  const std::optional<Network>& network() const { return network_; }
  void keep_network(const Network& network) { network_ = network; }
  /// The number of this rank's node, and which ranks share one; nothing before a call has asked.
  uint64_t node() const { return node_; }
  const std::optional<Topology>& topology() const { return topology_; }
  void keep_topology(const Topology& topology) { topology_ = topology; }
  /// What messages within nodes and between them cost, likewise.
  const std::optional<Nodes>& nodes() const { return nodes_; }
  void keep_nodes(const Nodes& nodes) { nodes_ = nodes; }

  /// A line about the call that is made, where SPARSECOLL_DEBUG asks for it.
  template <class... Parts>
  void tell(LogLevel level, const Parts&... parts) const noexcept {
    if (!log_.wants(level)) return;
    try {
      log_.write(level, text("call ", sequence_.load(), ": ", parts...));
    } catch (const std::exception&) {
      // A call does not fail for want of a line about it.
    }
  }

 private:
  /// Agrees on the configuration. Closes the link if the ranks cannot agree.
  void agree_on_init(const std::optional<Error>& problem, const Deadline& deadline);
  /// Makes this rank's end of a part and joins the other members.
  void* join_part(std::unique_ptr<Link> link, const Config& config, const Deadline& deadline);
  void drain();
  /// Runs a verb whose arguments are good.
  void invoke(Operation& operation, const Invocation& invocation);
  /// What the ranks agree on: the call and what it starts from.
  static Descriptor with_cache_hash(Descriptor shape, const ShapeCache& cache);

  /// MPI is given memory of the device.
  bool gives_device_memory() const;
  /// For a call with memory of the host while messages may be under way to that of the device.
  std::shared_ptr<const void> stay_on_device();
  /// Counts the call, runs it with workspace, poisons the communicator if it fails for good.
  void run_counted(const Descriptor& call, FunctionRef<void(const CallParameters&)> body);
  void begin_timeline();
  /// When nothing more is done with the communicator.
  void write_timeline() noexcept;
  /// The error that every later call gives; with mutex_ held.
  void refuse_from_now_on(sparsecollResult_t code, const char* why) noexcept;
  void poison_with(const Error& error);
  /// Local end of the link, once; peers get the notice if there is one. What messages under way may
  /// still touch is given up.
  void abandon(const Error* notice);
  [[noreturn]] void poison_and_throw(const Error& error);

  Config config_;
  Log log_;
  std::unique_ptr<Timeline> timeline_;  ///< null: nobody asked for one
  uint64_t number_ = 0;
  std::shared_ptr<Memory> memory_ = std::make_shared<Memory>();
  Arena arena_{*memory_};
  std::atomic<int> device_;
  std::unique_ptr<Device> device_end_;
  std::atomic<Device*> device_seen_{nullptr};  ///< the same, for threads that did not make it
  bool lands_ = false;                         ///< what comes for the device may come there at once
  std::vector<std::unique_ptr<PendingResult>> pending_results_;
  bool last_was_group_ = false;
  std::vector<void*> residuals_;
  std::vector<void*> push_sums_;
  std::unique_ptr<Link> link_;
  const uint64_t node_;
  host::Backend host_;
  std::atomic<bool> busy_{false};
  bool abandoned_ = false;
  bool closed_ = false;
  std::optional<Deadline> init_deadline_;  ///< while this communicator is being made
  std::atomic<uint64_t> sequence_{0};

  mutable std::mutex mutex_;               ///< of what other threads may ask for
  std::shared_ptr<Communicator> joining_;  ///< part that is being made, which an abort ends too
  sparsecollResult_t poison_ = sparsecollSuccess;
  std::string poison_message_;
  std::string last_error_;
  Stats last_;
  Stats total_;
  std::atomic<size_t> abandoned_bytes_{0};

  struct CacheEntry {
    ShapeCache cache;
    uint64_t used = 0;  ///< number of the use
  };
  std::map<uint64_t, CacheEntry> caches_;
  uint64_t uses_ = 0;
  std::optional<Network> network_;
  std::optional<Topology> topology_;
  std::optional<Nodes> nodes_;

  int group_depth_ = 0;
  std::vector<std::unique_ptr<Operation>> group_;  ///< recorded since it was opened

  std::unique_ptr<Queue> queue_;  ///< last: its thread uses all the others
};

/// Workspace of what a communicator does, on the host and, where a site is entered, on its device.
class Workspace {
 public:
  explicit Workspace(Communicator& communicator)
      : communicator_(communicator), scope_(communicator.arena()) {}
  ~Workspace() {
    if (Device* const device = communicator_.device_end())
      device->end(std::uncaught_exceptions() > exceptions_);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

 private:
  Communicator& communicator_;
  const Arena::Scope scope_;
  const int exceptions_ = std::uncaught_exceptions();
};

}  // namespace sparsecoll
