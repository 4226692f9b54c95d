// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/communicator.hpp"

#include <cstring>
#include <system_error>
#include <utility>

#include "api/flight_signal.hpp"
#include "api/operation.hpp"
#include "api/push_sum_state.hpp"
#include "api/rank_path.hpp"
#include "api/residual.hpp"
#include "api/sharding.hpp"
#include "calls/algorithm_info.hpp"
#include "calls/basic_collectives.hpp"

namespace sparsecoll {

Communicator::Communicator(std::unique_ptr<Link> link, Config config, const Communicator* parent)
    : config_(std::move(config)),
      log_(config_.log_level, config_.log_file, text("rank ", link->rank(), " of ", link->size())),
      timeline_file_(config_.timeline, log_),
      placement_{parent ? parent->placement().share : link->cpu_share(), config_.binds},
      backends_(config_, *link, placement_, timeline_file_.timeline()),
      link_(std::move(link)),
      health_(link_as<StreamLink>(*link_)),
      statistics_(link_as<StreamLink>(*link_)),
      has_parent_(parent != nullptr),
      network_model_{
          parent ? parent->network_model().path : RankPath{node_of(link_->rank(), config_, *link_)},
          {},
          {},
          false,
          {}},
      residuals_(sparsecoll::residuals()),
      push_sums_(sparsecoll::push_sums()) {
  link_->open({*backends_.memory(kHost), backends_.arena(), config_.check, config_.values.timeoutMs,
               timeline_file_.timeline(), &recorder_});
  if (const auto device = link_->device())
    backends_.device(*device);  // this attaches it to the link
  log_.write(
      LogLevel::info,
      text("init: blocking ", config_.values.blocking, ", timeout ", config_.values.timeoutMs,
           " ms, algorithm ", algorithm_info(config_.values.algorithm)->name, ", checksums ",
           config_.check ? "on" : "off",
           backends_.sends_from_device() ? ", device memory straight to MPI" : ""));
}

Communicator::~Communicator() {
  if (queue_) link_->abort();
  queue_.reset();
  write_timeline();
}

void Communicator::write_timeline() noexcept {
  if (!timeline_file_.timeline() || number_ == 0) return;
  if (Device* const device = backends_.device()) device->finish_timeline();
  timeline_file_.write({rank(), size(), link_->world_rank(), number_});
}

void* Communicator::initialize(const std::optional<Error>& problem, const Deadline& deadline,
                               uint64_t* committed) {
  void* handle = nullptr;
  try {
    handle = communicators().insert(shared_from_this());
    set_number(communicators().number_of(handle));
    agree_on_config(problem, deadline, committed);
    start();
    return handle;
  } catch (const Error& error) {
    communicators().erase(handle);
    if (!closed_) poison_and_throw(error);  // peers may have finished their initialisation
    throw;
  } catch (const std::bad_alloc&) {
    communicators().erase(handle);
    poison_and_throw(Error(sparsecollSystemError, "out of memory"));
  }
}

void Communicator::agree_on_config(const std::optional<Error>& problem, const Deadline& deadline,
                                   uint64_t* committed) {
  const auto check = [&] {
    if (problem) throw Error(*problem);
    check_expected_ranks(config_, size());
    if (link_as<StreamLink>(*link_)) check_stream_order(config_);
    if (!has_parent_) network_model_.path = path_of(config_, *link_);
    if (!config_.values.blocking) link_->check_queue();
  };
  // The call below gets number 0. Before it ends on this rank, messages of call 1 may arrive.
  running_call_ = ~uint64_t{0};
  try {
    std::vector<RankPath> paths;
    const auto body = [&](AgreedCall& call) {
      paths = gather_paths(call, backends_.arena(), network_model_.path);
      if (committed && link_as<StreamLink>(*link_))
        *committed = smallest_of_all(call, backends_.arena(), *committed);
      call.agree();
    };
    run_collective(describe(config_), check, body, deadline);
    set_topology(network_model_.path, Topology(paths));  // throws on all ranks or on none
    join_node(*link_, config_, topology(), deadline);
  } catch (const Error&) {
    if (health_.code() == sparsecollSuccess) {
      link_->close(deadline);
      abandoned_ = closed_ = true;
    }
    throw;
  }
}

void Communicator::set_topology(const RankPath& path, const Topology& topology) {
  network_model_.path = path;
  network_model_.topology = topology;
}

const Topology& Communicator::topology() const {
  if (!network_model_.topology)
    fail(sparsecollInvalidUsage, "the ranks have not told each other where they are");
  return *network_model_.topology;
}

void Communicator::start() {
  statistics_.reset();  // the initialisation is no verb
  if (may_shard(config_) && !network_model_.topology) {
    // The ranks are threads of one process. They exchange nothing at init, and need not.
    std::vector<uint64_t> nodes;
    for (int r = 0; r < size(); ++r) nodes.push_back(node_of(r, config_, *link_));
    network_model_.topology.emplace(nodes);
  }
  if (config_.flight_signal != 0) write_records_at(config_.flight_signal);
  if (config_.values.blocking) return;
  try {
    const int device = link_->device().value_or(config_.values.device);
    queue_ = std::make_unique<Queue>(
        completions_, [this] { deliver_notifications(); },
        placement_.for_queue(device >= 0 ? pci_address(device) : std::string()));
  } catch (const std::system_error& error) {
    fail(sparsecollSystemError, "no thread for queued calls: ", error.what());
  }
}

void Communicator::count_committed(uint64_t verb, uint64_t sequence) {
  committed_ = sequence;
  if (verb != static_cast<uint64_t>(Verb::push_sum_step)) agreed_ = sequence;
}

void Communicator::continue_from(const std::shared_ptr<Communicator>& origin, uint64_t committed) {
  running_call_ = committed_ = agreed_ = origin_committed_ = committed;
  origin_ = origin;
  completions_.issue(committed);
  completions_.end(committed);
}

std::optional<uint64_t> Communicator::committed_in(const Communicator& origin) const {
  std::shared_ptr<Communicator> parent = origin_.lock();
  uint64_t committed = origin_committed_;
  while (parent && parent.get() != &origin) {
    committed = parent->origin_committed_;
    parent = parent->origin_.lock();
  }
  if (!parent) return {};
  return committed;
}

void Communicator::drain_queue(const Deadline& deadline) {
  if (!queue_) return;
  if (queue_->wait_idle(deadline.within(std::chrono::hours(24 * 365)))) return;
  health_.poison(sparsecollTimeout, "deadline passed before the queued calls had ended");
  abort();
}

void Communicator::close() {
  if (closed_) check_healthy();
  const Deadline deadline = new_deadline();
  const bool was_healthy = health_.code() == sparsecollSuccess;
  if (was_healthy) {
    group_.check_closed();
    drain_queue(deadline);
  }
  if (health_.code() != sparsecollSuccess) {
    if (queue_) queue_->stop();
    abandon(nullptr);
    if (was_healthy) check_healthy();  // a queued call has failed, of which nobody may have heard
    return;
  }
  if (link_->close_is_collective()) {
    Descriptor descriptor;
    descriptor.verb = static_cast<uint64_t>(Verb::destroy);
    run_collective(
        descriptor, [] {}, [this](AgreedCall& call) { link_->agree_to_close(call); }, deadline);
  }
  if (queue_) queue_->stop();
  try {
    link_->close(deadline);
  } catch (const Error& error) {
    if (fatal(error.code())) poison_and_throw(error);  // a link cannot be closed twice
    throw;
  }
  abandoned_ = closed_ = true;
  health_.set_destroyed();
}

void Communicator::abort() noexcept {
  ++aborts_;
  health_.poison(sparsecollInvalidUsage, "aborted by sparsecollCommAbort");
  {
    const std::lock_guard lock(child_mutex_);
    if (child_) child_->abort();
  }
  link_->abort();
}

void Communicator::notify_of_poison() {
  if (const std::optional<Error> why = health_.kept()) abandon(&*why);
}

void Communicator::set_child(std::shared_ptr<Communicator> child) {
  const std::lock_guard lock(child_mutex_);
  child_ = std::move(child);
}

void Communicator::abandon(const Error* notice) {
  if (std::exchange(abandoned_, true)) return;
  const AbandonedMemory lost = link_->abandon(notice);
  statistics_.add_abandoned(lost.bytes);
  if (lost.touches_workspace) statistics_.add_abandoned(backends_.leak_workspace());
  write_flight_record(FlightRecordCause::failure);
}

void Communicator::write_flight_record(FlightRecordCause cause, const std::string& name) const {
  if (name.empty() && config_.flight_recorder.empty())
    fail(sparsecollInvalidArgument,
         "path: expected a name, or SPARSECOLL_FLIGHT_RECORDER to be set, got neither");
  const Timeline::Owner owner{rank(), size(), link_->world_rank(), number_};
  sparsecoll::write_flight_record(
      recorder_, {owner, cause, health_.kept()},
      name.empty() ? flight_record_of(config_.flight_recorder, owner) : name);
}

void Communicator::write_flight_record(FlightRecordCause cause) const noexcept {
  if (config_.flight_recorder.empty()) return;
  try {
    write_flight_record(cause, "");
  } catch (const std::exception& error) {
    log(LogLevel::warn, "SPARSECOLL_FLIGHT_RECORDER: ", error.what());
  }
}

void Communicator::poison_and_throw(const Error& error) {
  health_.poison(error);
  abandon(&error);
  health_.throw_poison();
}

void Communicator::poison_when_idle(const Error& error) {
  if (queue_ && !queue_->runs_here()) queue_->wait_idle();
  poison_and_throw(error);
}

sparsecollResult_t Communicator::record_error(const char* operation, const Error& error) {
  std::string line = text("rank ", rank(), " of ", size(), ", ", operation, ", call ",
                          running_call_.load(), ": ", error.what());
  log_.write(LogLevel::warn, line);
  health_.set_last_error(std::move(line));
  return error.code();
}

void Communicator::wait_for_device(const std::optional<Stream>& stream) {
  Device* const device = backends_.device();
  if (!device) return;
  if (stream) refuse_capture(device->number(), *stream);
  try {
    if (stream) return device->order_after_calls(*stream);
    device->wait();
    link_->ended();  // counts the calls for which the program has waited
  } catch (const Error& error) {
    poison_when_idle(error);
  }
  check_healthy();  // calls in stream order may have failed on the device
}

}  // namespace sparsecoll
