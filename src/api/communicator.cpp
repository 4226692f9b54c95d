// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/communicator.hpp"

#include <algorithm>
#include <utility>

#include "api/call_span.hpp"
#include "api/execution_context.hpp"
#include "api/handles.hpp"
#include "api/operation.hpp"
#include "api/push_sum.hpp"
#include "api/residual.hpp"
#include "collectives/registry.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {
constexpr size_t kCachedShapes = 256;

/// Its share of the CPUs that the calling thread may run on.
size_t threads_of(const Config& config, const Link& link) {
  const auto neighbours = static_cast<size_t>(link.neighbours());
  return config.threads ? static_cast<size_t>(*config.threads) : count_cpus() / neighbours;
}

/// The number of this rank's node in a communicator that is no part of another.
uint64_t node_of(const Config& config, const Link& link) {
  return config.ranks_per_node > 0 ? static_cast<uint64_t>(link.rank() / config.ranks_per_node)
                                   : link.node();
}

}  // namespace

// The tables are never destroyed: what a program forgot to destroy must not outlive them at exit.
HandleTable<Communicator>& communicators() {
  static auto& table = *new HandleTable<Communicator>(1);
  return table;
}

HandleTable<Residual>& residuals() {
  static auto& table = *new HandleTable<Residual>(2);
  return table;
}

HandleTable<PushSumState>& push_sums() {
  static auto& table = *new HandleTable<PushSumState>(3);
  return table;
}

Communicator::Communicator(std::unique_ptr<Link> link, Config config, std::optional<uint64_t> node)
    : config_(std::move(config)),
      log_(config_.log_level, config_.log_file, text("rank ", link->rank(), " of ", link->size())),
      device_(first_device(config_.values.device)),
      link_(std::move(link)),
      node_(node ? *node : node_of(config_, *link_)),
      host_(arena_, config_.simd.value_or(host::best_simd()), threads_of(config_, *link_),
            static_cast<size_t>(link_->rank() % link_->neighbours())) {
  begin_timeline();
  link_->open({*memory_, arena_, config_.check, config_.values.timeoutMs, timeline_.get()});
  if (const auto device = link_->device()) {
    device_ = *device;
    link_->use(device_end(*device));
  }
  log_.write(LogLevel::info, text("init: blocking ", config_.values.blocking, ", timeout ",
                                  config_.values.timeoutMs, " ms, algorithm ",
                                  find_algorithm(config_.values.algorithm)->name, ", checksums ",
                                  config_.check ? "on" : "off",
                                  gives_device_memory() ? ", device memory straight to MPI" : ""));
}

Communicator::~Communicator() {
  if (queue_) link_->abort();  // what is queued still ends at once
  queue_.reset();
  write_timeline();
  for (const void* handle : residuals_) sparsecoll::residuals().erase(handle);
  for (const void* handle : push_sums_) sparsecoll::push_sums().erase(handle);
}

void Communicator::collective(const Agreed& agreed, FunctionRef<void()> check,
                              FunctionRef<void(AgreedCall&)> body) {
  run_counted(agreed.descriptor,
              [&](const CallParameters& terms) { link_->make(terms, agreed, check, body); });
}

void Communicator::unagreed(Verb verb, FunctionRef<void(const CallParameters&)> body) {
  Descriptor call;
  call.verb = static_cast<uint64_t>(verb);
  run_counted(call, [&](const CallParameters& terms) {
    try {
      body(terms);
    } catch (const Error& error) {
      poison_and_throw(error);
    }
  });
}

void Communicator::take_part(FunctionRef<void()> begin) {
  try {
    begin();
  } catch (const std::bad_alloc&) {
    // What was queued before is still made, and the channel is that thread's until then.
    if (queue_ && !queue_->runs_here()) queue_->wait_idle();
    poison_and_throw(Error(sparsecollSystemError, "out of memory"));
  }
}

void Communicator::run_counted(const Descriptor& call,
                               FunctionRef<void(const CallParameters&)> body) {
  check_healthy();
  link_->check_thread();
  pending_results_.clear();
  const uint64_t sequence = ++sequence_;
  if (queue_) queue_->begin(sequence);
  tell(LogLevel::trace, verb_name(call.verb));
  Stats stats;
  stats.timeline = timeline_.get();
  std::shared_ptr<const void> on_device;
  const Workspace workspace(*this);  // outlives the catch below, which may give the arena up
  try {
    on_device = stay_on_device();
    const CallSpan span(call, sequence, stats);
    link_->begin(sequence);
    body({sequence, init_deadline_.value_or(Deadline::after(config_.values.timeoutMs)), stats});
  } catch (const NotMade&) {
    if (!queue_) --sequence_;
    throw;
  } catch (const Error& error) {
    if (fatal(error.code()) || link_->aborted()) poison_and_throw(error);
    link_->end();
    if (error.code() == sparsecollTruncated) add_up(stats);  // the operation is done
    throw;
  } catch (const std::bad_alloc&) {
    poison_and_throw(Error(sparsecollSystemError, "out of memory"));
  } catch (const std::exception& error) {
    poison_and_throw(Error(sparsecollInternalError, error.what()));
  }
  link_->end();
  add_up(stats);
  const AlgorithmEntry* const by = find_algorithm(stats.algorithm);
  tell(LogLevel::trace, "done", by && by->run ? " by " : "", by && by->run ? by->name : "", ", ",
       stats.selected, " entries selected, ", stats.result, " in the result, ", stats.bytes_sent,
       " bytes sent in ", stats.messages_sent, " messages");
}

void Communicator::run(Operation& operation) {
  const Descriptor shape = operation.descriptor();
  ShapeCache last = cache(shape);
  const auto body = [&](AgreedCall& call) {
    last_was_group_ = false;
    invoke(operation, {*this, call, shape, last});
  };
  collective(
      with_cache_hash(shape, last), [&] { operation.check(*this); }, body);
}

void Communicator::invoke(Operation& operation, const Invocation& invocation) {
  Residual* residual = operation.memory_use().residual;
  const auto remember = [&] {
    if (residual) residual->used_by(invocation.descriptor, sequence_);
  };
  try {
    operation.run(invocation);
  } catch (const Error& error) {
    if (error.code() == sparsecollTruncated) remember();  // all is done
    throw;
  }
  remember();
}

Descriptor Communicator::with_cache_hash(Descriptor shape, const ShapeCache& cache) {
  shape.argument[kCacheHash] = cache.hash();
  return shape;
}

void Communicator::enqueue(const char* name, std::function<void()> task) {
  queue_->push(Queue::Kind::collective, name, [this, task = std::move(task)] { take_part(task); });
}

void Communicator::run_and_wait(Operation& operation) {
  if (!queue_) return run(operation);
  std::exception_ptr failure;
  const auto task = [&] {
    try {
      run(operation);
    } catch (const std::exception&) {
      failure = std::current_exception();
    }
  };
  enqueue(verb_name(operation.descriptor().verb), task);
  queue_->wait_idle();
  if (failure) std::rethrow_exception(failure);
}

void Communicator::check_healthy() const {
  const auto failure = link_->failure();  // may take a while
  const std::lock_guard lock(mutex_);
  if (poison_ != sparsecollSuccess) throw Error(poison_, poison_message_);
  if (failure) throw Error(*failure);
}

sparsecollResult_t Communicator::poison() const {
  const auto failure = link_->failure();
  const std::lock_guard lock(mutex_);
  if (poison_ != sparsecollSuccess) return poison_;
  return failure ? failure->code() : sparsecollSuccess;
}

sparsecollResult_t Communicator::note(const char* operation, const Error& error) {
  const std::string line = text("rank ", rank(), " of ", size(), ", ", operation, ", call ",
                                sequence_.load(), ": ", error.what());
  log_.write(LogLevel::warn, line);
  const std::lock_guard lock(mutex_);
  last_error_ = line;
  return error.code();
}

const char* Communicator::last_error() const {
  const std::lock_guard lock(mutex_);
  return last_error_.c_str();
}

void Communicator::report(uint64_t number) {
  if (const auto failure = queue_->take_failure(number))
    fail(failure->error.code(), failure->operation, ", call ", failure->number, ": ",
         failure->error.what());
}

void Communicator::add_up(const Stats& call) {
  const std::lock_guard lock(mutex_);
  last_ = call;
  total_.add(call);
}

Stats Communicator::stats(bool total) const {
  Stats known;
  {
    const std::lock_guard lock(mutex_);
    known = total ? total_ : last_;
  }
  if (const DeviceTotals* const tally = known.settles ? link_->tally() : nullptr) {
    known.selected += total ? tally->selected : tally->last_selected;
    known.result += total ? tally->result : tally->last_result;
  }
  return known;
}

ShapeCache Communicator::cache(const Descriptor& shape) const {
  const auto found = caches_.find(shape.hash());
  return found == caches_.end() ? ShapeCache{} : found->second.cache;
}

void Communicator::store_cache(uint64_t shape, const ShapeCache& cache) {
  if (caches_.size() >= kCachedShapes && !caches_.contains(shape))
    caches_.erase(std::min_element(
        caches_.begin(), caches_.end(),
        [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  CacheEntry& kept = caches_[shape];
  kept.cache = cache;
  kept.used = ++uses_;
}

void Communicator::store_caches(std::span<const CachedShape> all) {
  std::map<uint64_t, CacheEntry> before = caches_;
  try {
    for (const CachedShape& each : all) store_cache(each.shape, each.cache);
  } catch (...) {
    caches_.swap(before);
    throw;
  }
}

const ShapeCache* Communicator::find_cache(uint64_t shape) const {
  const auto found = caches_.find(shape);
  return found == caches_.end() ? nullptr : &found->second.cache;
}

}  // namespace sparsecoll
