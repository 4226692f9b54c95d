// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/deadline.hpp"
#include "core/types.hpp"
#include "transport/ucx/library.hpp"

namespace sparsecoll::ucx {

/// How long a rank that ends waits until what is queued is sent.
inline constexpr auto kMostFlushing = std::chrono::milliseconds(20);

/// A context of UCX and its worker. A rank makes one kind of connections with it.
///
/// UCX 1.13 cannot use shared memory and also handle failures of peers. So a rank has two engines:
/// one over the network, which handles them, and one in memory, which does not.
class Engine {
 public:
  enum class Kind { network, memory };

  /// `devices`: the network devices that it may use, as in UCX_NET_DEVICES; "": all of them. Throws
  /// SystemError if UCX fails.
  Engine(Kind kind, size_t ranks, const std::string& devices);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Returns the address to which peers connect.
  std::vector<std::byte> address() const;
  /// Calls this function for each active message with that id.
  void listen(unsigned id, ucp_am_recv_callback_t receive, void* argument);
  /// Connects to a peer. `on_failure` is called with `argument` when it fails, over the network.
  /// Returns null if UCX cannot reach it.
  ucp_ep_h connect(const std::byte* address, ucp_err_handler_cb_t on_failure, void* argument);
  /// Ends a connection at once. Returns UCX's request, or null if the connection has ended already.
  void* close(ucp_ep_h endpoint);
  /// Makes progress until UCX has sent all that is queued over the network, or until the limit.
  /// That includes UCX's own answers to peers that connect. Returns whether all is sent.
  bool drain(Clock::time_point limit);
  /// Ends an engine whose connections were closed. If `all_sent` is true, nothing that this rank
  /// has sent is queued, only UCX's answers to peers that connect can be. UCX before 1.14 ends the
  /// process if the worker ends before such an answer is sent. So the engine waits for the peer,
  /// for at most half a second. If the peer has not taken the answer then, the worker is left to
  /// the end of the process.
  static void end(std::unique_ptr<Engine> engine, bool all_sent) noexcept;
  bool progress() { return ucx_.worker_progress(worker_) != 0; }
  /// Makes fd() readable at the next event. Returns false if an event is pending now.
  bool arm();
  int fd() const { return fd_; }
  Kind kind() const { return kind_; }

 private:
  void check(ucs_status_t status, const char* function) const;
  void start(size_t ranks, const std::string& devices);
  /// Lets connect() of TCP return before the connection is there.
  void connect_later(ucp_config_t* config) const;
  std::pair<unsigned, unsigned> version() const;  ///< of UCX; major, minor
  bool ends_process_with_queued_answers() const;
  void stop() noexcept;

  const Library& ucx_;
  const Kind kind_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int fd_ = -1;
};

}  // namespace sparsecoll::ucx
