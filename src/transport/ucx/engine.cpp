// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/engine.hpp"

#include <sched.h>

#include <utility>

#include "core/environment.hpp"
#include "core/error.hpp"

namespace sparsecoll::ucx {

namespace {

/// How long an engine that ends waits for a peer that connects. The peer takes the answer at once,
/// unless it is stopped or gets no CPU.
constexpr auto kMostAnswering = std::chrono::milliseconds(500);

/// Returns whether the user lets UCX send over TCP. UCX warns of settings of what it does not use.
bool may_use_tcp() {
  const std::string transports = environment("UCX_TLS").value_or("all");
  const bool excludes = transports.starts_with('^');
  const bool named = transports.find("tcp") != std::string::npos;
  if (excludes ? named : !named && transports.find("all") == std::string::npos) return false;
  // InfiniBand's devices have a port, as in mlx5_0:1.
  const std::string devices = environment("UCX_NET_DEVICES").value_or("all") + ',';
  if (devices.starts_with('^')) return true;
  for (size_t at = 0, end; (end = devices.find(',', at)) != std::string::npos; at = end + 1)
    if (devices.substr(at, end - at).find(':') == std::string::npos) return true;
  return false;
}

}  // namespace

Engine::Engine(Kind kind, size_t ranks, const std::string& devices)
    : ucx_(open_library()), kind_(kind) {
  try {
    start(ranks, devices);
  } catch (...) {
    stop();
    throw;
  }
}

Engine::~Engine() { stop(); }

void Engine::end(std::unique_ptr<Engine> engine, bool all_sent) noexcept {
  const bool drained = engine->drain(Clock::now() + (all_sent ? kMostAnswering : kMostFlushing));
  if (!drained && all_sent && engine->ends_process_with_queued_answers()) engine.release();
}

void Engine::stop() noexcept {
  if (worker_) ucx_.worker_destroy(worker_);
  if (context_) ucx_.cleanup(context_);
}

void Engine::check(ucs_status_t status, const char* function) const {
  if (status != UCS_OK)
    fail(sparsecollSystemError, "UCX: ", function, ": ", ucx_.status_string(status));
}

void Engine::start(size_t ranks, const std::string& devices) {
  ucp_config_t* config = nullptr;
  check(ucx_.config_read(nullptr, nullptr, &config), "ucp_config_read");
  if (kind_ == Kind::memory) ucx_.config_modify(config, "TLS", "posix,sysv");
  if (!devices.empty()) ucx_.config_modify(config, "NET_DEVICES", devices.c_str());
  if (kind_ == Kind::network) connect_later(config);
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  params.estimated_num_eps = ranks;
  const ucs_status_t made =
      ucx_.init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context_);
  ucx_.config_release(config);
  if (made != UCS_OK) context_ = nullptr;
  check(made, "ucp_init");
  ucp_worker_params_t options{};
  options.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_EVENTS;
  options.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  options.events = UCP_WAKEUP_TX | UCP_WAKEUP_RX;
  check(ucx_.worker_create(context_, &options, &worker_), "ucp_worker_create");
  check(ucx_.worker_fd(worker_, &fd_), "ucp_worker_get_efd");
}

// UCX ends this process if a connect() that waits succeeds and the peer ends before the first
// send(): UCX then marks the connection as failed before it marks it as one that sends, and an
// assertion in uct_tcp_ep_destroy_progress() expects that it does not send (1.13 and later).
void Engine::connect_later(ucp_config_t* config) const {
  if (environment("UCX_TCP_CONN_NB") || !may_use_tcp()) return;
  // Since 1.17 a name begins with that of its transport.
  const bool with_prefix = version() >= std::pair(1u, 17u);
  ucx_.config_modify(config, with_prefix ? "TCP_CONN_NB" : "CONN_NB", "y");
}

std::pair<unsigned, unsigned> Engine::version() const {
  unsigned major = 0, minor = 0, release = 0;
  ucx_.version(&major, &minor, &release);
  return {major, minor};
}

// An assertion in ucp_request_send_state_ff() expects other messages in the queue.
bool Engine::ends_process_with_queued_answers() const { return version() < std::pair(1u, 14u); }

void Engine::listen(unsigned id, ucp_am_recv_callback_t receive, void* argument) {
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = id;
  handler.cb = receive;
  handler.arg = argument;
  check(ucx_.set_receiver(worker_, &handler), "ucp_worker_set_am_recv_handler");
}

std::vector<std::byte> Engine::address() const {
  ucp_address_t* address = nullptr;
  size_t bytes = 0;
  check(ucx_.worker_address(worker_, &address, &bytes), "ucp_worker_get_address");
  const auto* const at = reinterpret_cast<const std::byte*>(address);
  std::vector<std::byte> copy(at, at + bytes);
  ucx_.release_address(worker_, address);
  return copy;
}

ucp_ep_h Engine::connect(const std::byte* address, ucp_err_handler_cb_t on_failure,
                         void* argument) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(address);
  params.err_mode =
      kind_ == Kind::network ? UCP_ERR_HANDLING_MODE_PEER : UCP_ERR_HANDLING_MODE_NONE;
  params.err_handler.cb = on_failure;
  params.err_handler.arg = argument;
  ucp_ep_h endpoint = nullptr;
  const ucs_status_t made = ucx_.endpoint_create(worker_, &params, &endpoint);
  if (made == UCS_ERR_UNREACHABLE) return nullptr;
  check(made, "ucp_ep_create");
  return endpoint;
}

bool Engine::drain(Clock::time_point limit) {
  if (kind_ == Kind::memory) return true;
  const ucp_request_param_t how{};
  // Progress may receive another request to connect, and queue its answer.
  for (;;) {
    void* const request = ucx_.worker_flush(worker_, &how);
    if (!UCS_PTR_IS_PTR(request)) return true;
    while (ucx_.request_status(request) == UCS_INPROGRESS && Clock::now() < limit)
      if (!progress()) sched_yield();
    ucx_.request_free(request);
    if (Clock::now() >= limit) return false;
  }
}

void* Engine::close(ucp_ep_h endpoint) {
  // Connections in memory end when the worker is destroyed. To close them here, UCX 1.13 would
  // flush them first, and a peer that has died receives nothing any more.
  if (kind_ == Kind::memory) return nullptr;
  ucp_request_param_t how{};
  how.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  how.flags = UCP_EP_CLOSE_FLAG_FORCE;
  void* const request = ucx_.endpoint_close(endpoint, &how);
  return UCS_PTR_IS_PTR(request) ? request : nullptr;
}

bool Engine::arm() {
  const ucs_status_t armed = ucx_.worker_arm(worker_);
  if (armed == UCS_ERR_BUSY) return false;
  check(armed, "ucp_worker_arm");
  return true;
}

}  // namespace sparsecoll::ucx
