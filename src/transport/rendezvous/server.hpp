// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "transport/rendezvous/connection.hpp"
#include "transport/rendezvous/session.hpp"
#include "transport/rendezvous/unique_id.hpp"

namespace sparsecoll::rendezvous {

/// The server of all ids that a process has made: a thread, which lives as long as the process. It
/// sleeps while nothing arrives. It has a secret for each id, and closes connections that do not
/// send a valid one.
class Server {
 public:
  /// Returns the server of this process. Starts it at the first call, and again in a child that was
  /// forked. Throws SystemError.
  static Server& of_process();

  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Makes a new id. Other processes reach this one at `address`, whose port is not used.
  UniqueId open(const SocketAddress& address);

 private:
  struct Listener {
    int fd;
    SocketAddress address;
  };

  Server();
  /// Starts the thread, at the first call.
  void start();
  void serve();
  void serve_once();
  void accept_some(int listener);
  /// Reads from a connection and handles its requests. Returns false when it has ended.
  bool handle(Connection& connection);
  bool greet(Connection& connection);
  /// Closes connections that have not sent a secret in time, and the oldest of these if there are
  /// too many.
  void drop_strangers();
  void end(Connection& connection);
  Session* session_of(const Secret& secret);
  /// Returns the milliseconds until something is due, for poll(); -1: nothing is.
  int next_due();

  const pid_t process_;
  const Server* before_ = nullptr;  ///< the server of the process from which this one was forked
  const int wake_;                  ///< ends the wait of the thread
  std::mutex mutex_;                ///< guards the three members below
  bool started_ = false;
  std::vector<Listener> listeners_;
  std::map<Secret, std::unique_ptr<Session>> sessions_;
  std::list<Connection> connections_;  ///< only the server's thread uses it
  bool accepts_ = true;                ///< false for a moment if there are no descriptors left
};

}  // namespace sparsecoll::rendezvous
