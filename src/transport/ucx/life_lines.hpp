// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/function_ref.hpp"

namespace sparsecoll {

/// The address at which a rank accepts life lines. Its bytes are sent as they are.
struct LifeLineAddress {
  uint64_t node = 0;               ///< node_number(); only ranks of one node connect
  std::array<uint64_t, 2> name{};  ///< the name of the socket
  std::array<uint64_t, 2> secret{};
};

/// Connections between the ranks of one node that carry no data. The kernel closes those of a
/// process that dies, so that its peers notice at once. Through shared memory they would never
/// notice. A child that the process has forked keeps them open, so the process itself is watched,
/// too.
class LifeLines {
 public:
  LifeLines(int rank, size_t ranks);
  ~LifeLines();
  LifeLines(const LifeLines&) = delete;
  LifeLines& operator=(const LifeLines&) = delete;

  const LifeLineAddress& address() const { return address_; }
  /// Connects to the ranks of this node that have a higher number. All ranks have addresses.
  void connect(const std::vector<LifeLineAddress>& ranks);
  /// Accepts the connections of the ranks with lower numbers, which have called connect().
  void accept_all();
  /// Returns whether there is a connection to this rank, which has not died.
  bool has(int peer) const { return lines_[static_cast<size_t>(peer)].socket >= 0; }
  /// Returns a descriptor that is readable when a peer has died.
  int fd() const { return epoll_; }
  /// Calls `dead(peer)` for each peer that has died since the last call.
  void check(FunctionRef<void(int peer)> dead);

 private:
  struct Line {
    int socket = -1;   ///< -1: there is no line
    int process = -1;  ///< a pidfd; -1: this process, or a process for which the kernel gives none
  };

  void add(int socket, int peer);
  bool watch(int fd, int peer) const;
  static void cut(Line& line);

  const int rank_;
  LifeLineAddress address_;
  int epoll_;
  int listening_ = -1;
  std::vector<Line> lines_;  ///< by peer
};

}  // namespace sparsecoll
