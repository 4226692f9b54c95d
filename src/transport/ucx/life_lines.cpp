// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/life_lines.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>

#include "core/error.hpp"
#include "core/machine.hpp"
#include "core/random.hpp"

namespace sparsecoll {

namespace {

constexpr int kBacklog = 4096;

/// The message of the rank that connects.
struct Greeting {
  std::array<uint64_t, 2> secret;
  uint64_t rank;
};

/// A socket address in Linux's abstract namespace. The kernel removes it when the process ends.
struct AbstractName {
  explicit AbstractName(const std::array<uint64_t, 2>& name) {
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), sizeof name);
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + sizeof name);
  }
  const sockaddr* at() const { return reinterpret_cast<const sockaddr*>(&address); }
  sockaddr_un address{};
  socklen_t length;
};

int new_socket() { return socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

}  // namespace

LifeLines::LifeLines(int rank, size_t ranks)
    : rank_(rank), epoll_(epoll_create1(EPOLL_CLOEXEC)), lines_(ranks) {
  if (epoll_ < 0) fail(sparsecollSystemError, "epoll_create1: ", std::strerror(errno));
  address_.node = node_number();
  address_.name = random_secret();
  address_.secret = random_secret();
  listening_ = new_socket();
  const AbstractName own(address_.name);
  if (listening_ < 0 || bind(listening_, own.at(), own.length) != 0 ||
      listen(listening_, kBacklog) != 0) {
    const int error = errno;
    if (listening_ >= 0) close(listening_);
    close(epoll_);
    fail(sparsecollSystemError, "a socket between the ranks of a node: ", std::strerror(error));
  }
}

LifeLines::~LifeLines() {
  for (Line& line : lines_) cut(line);
  if (listening_ >= 0) close(listening_);
  close(epoll_);
}

void LifeLines::cut(Line& line) {
  if (line.socket >= 0)
    close(line.socket);  // this also removes the socket from the watched
                         // descriptors
  if (line.process >= 0) close(line.process);
  line = {};
}

bool LifeLines::watch(int fd, int peer) const {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.fd = peer;
  return epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0;
}

void LifeLines::add(int socket, int peer) {
  Line& line = lines_[static_cast<size_t>(peer)];
  line.socket = socket;
  if (!watch(socket, peer)) fail(sparsecollSystemError, "epoll_ctl: ", std::strerror(errno));
  ucred other{};
  socklen_t length = sizeof other;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &length) != 0 || other.pid <= 0 ||
      other.pid == getpid())
    return;
  line.process = static_cast<int>(syscall(SYS_pidfd_open, other.pid, 0));
  if (line.process >= 0 && !watch(line.process, peer)) {
    close(line.process);
    line.process = -1;
  }
}

void LifeLines::connect(const std::vector<LifeLineAddress>& ranks) {
  for (size_t peer = static_cast<size_t>(rank_) + 1; peer < ranks.size(); ++peer) {
    if (ranks[peer].node != address_.node) continue;
    const int line = new_socket();
    const AbstractName name(ranks[peer].name);
    const Greeting greeting{ranks[peer].secret, static_cast<uint64_t>(rank_)};
    // connect() does not wait, because the peer listens already. A peer that has died is no error.
    if (line >= 0 && ::connect(line, name.at(), name.length) == 0 &&
        send(line, &greeting, sizeof greeting, MSG_NOSIGNAL) ==
            static_cast<ssize_t>(sizeof greeting))
      add(line, static_cast<int>(peer));
    else if (line >= 0)
      close(line);
  }
}

void LifeLines::accept_all() {
  for (;;) {
    const int line = accept4(listening_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (line < 0 && errno == EINTR) continue;
    if (line < 0) break;
    Greeting greeting{};
    const bool known =
        read(line, &greeting, sizeof greeting) == static_cast<ssize_t>(sizeof greeting) &&
        greeting.secret == address_.secret && greeting.rank < lines_.size() &&
        !has(static_cast<int>(greeting.rank));
    if (known)
      add(line, static_cast<int>(greeting.rank));
    else
      close(line);  // another program of this machine
  }
  close(listening_);
  listening_ = -1;
}

void LifeLines::check(FunctionRef<void(int peer)> dead) {
  epoll_event events[16];
  for (int count = 1; count > 0;) {
    count = epoll_wait(epoll_, events, 16, 0);
    for (const epoll_event& event : std::span(events, static_cast<size_t>(std::max(count, 0)))) {
      const int peer = event.data.fd;
      if (!has(peer)) continue;  // both of its descriptors have reported the death
      cut(lines_[static_cast<size_t>(peer)]);
      dead(peer);
    }
  }
}

}  // namespace sparsecoll
