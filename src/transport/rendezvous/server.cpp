// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/rendezvous/server.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

#include "core/error.hpp"
#include "core/random.hpp"
#include "core/signals_blocked.hpp"

namespace sparsecoll::rendezvous {

namespace {

constexpr int kBacklog = 4096;
/// The most connections that are accepted at once. Then they are read, so that a rank has sent its
/// secret before connections of others make its own the oldest.
constexpr int kMostAccepted = 64;
constexpr size_t kMostStrangers = 128;
constexpr auto kGreetingTime = std::chrono::seconds(10);
constexpr auto kPause = std::chrono::milliseconds(100);

}  // namespace

Server::Server() : process_(getpid()), wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (wake_ < 0) fail(sparsecollSystemError, "eventfd: ", std::strerror(errno));
}

Server::~Server() { close(wake_); }

Server& Server::of_process() {
  // Servers are never destroyed: their threads run until the process ends.
  static std::atomic<Server*> current{nullptr};
  Server* found = current;
  while (!found || found->process_ != getpid()) {
    std::unique_ptr<Server> made(new Server);
    made->before_ = found;
    if (current.compare_exchange_strong(found, made.get())) found = made.release();
  }
  return *found;
}

void Server::start() {
  if (started_) return;
  const SignalsBlocked blocked;
  try {
    std::thread(&Server::serve, this).detach();
  } catch (const std::system_error& error) {
    fail(sparsecollSystemError, "no thread for the rendezvous: ", error.what());
  }
  started_ = true;
}

UniqueId Server::open(const SocketAddress& address) {
  UniqueId id{address, random_secret()};
  const std::lock_guard lock(mutex_);
  start();
  SocketAddress own = address;
  const auto same = std::ranges::find_if(listeners_, [&](const Listener& each) {
    return each.address.name().substr(0, each.address.name().rfind(':')) ==
           own.name().substr(0, own.name().rfind(':'));
  });
  if (same != listeners_.end()) {
    id.server = same->address;
  } else {
    const int fd = socket(own.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, own.at(), own.length) != 0 || listen(fd, kBacklog) != 0 ||
        getsockname(fd, own.at(), &own.length) != 0) {
      const int error = errno;
      if (fd >= 0) close(fd);
      fail(sparsecollSystemError, "cannot listen at ", own.name(), ": ", std::strerror(error));
    }
    listeners_.push_back({fd, own});
    id.server = own;
  }
  sessions_.emplace(id.secret, std::make_unique<Session>());
  const uint64_t one = 1;
  static_cast<void>(!write(wake_, &one, sizeof one));
  return id;
}

void Server::serve() {
  for (;;) {
    try {
      serve_once();
    } catch (const std::exception&) {
      // There is no memory for a connection. Others may end and leave some.
      std::this_thread::sleep_for(kPause);
    }
  }
}

int Server::next_due() {
  if (!accepts_) return static_cast<int>(kPause.count());
  Clock::time_point due = Clock::time_point::max();
  for (const Connection& each : connections_)
    due = std::min(due, each.session ? each.session->deadline() : each.since() + kGreetingTime);
  if (due == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1000000));
}

void Server::serve_once() {
  std::vector<pollfd> sources{{wake_, POLLIN, 0}};
  size_t listeners = 0;
  {
    const std::lock_guard lock(mutex_);
    for (const Listener& each : listeners_)
      sources.push_back({each.fd, static_cast<short>(accepts_ ? POLLIN : 0), 0});
    listeners = listeners_.size();
  }
  for (const Connection& each : connections_)
    sources.push_back(
        {each.fd(), static_cast<short>(each.wants_to_write() ? POLLIN | POLLOUT : POLLIN), 0});
  poll(sources.data(), sources.size(), next_due());
  accepts_ = true;
  uint64_t wakes = 0;
  static_cast<void>(!read(wake_, &wakes, sizeof wakes));
  size_t at = 1 + listeners;
  for (auto each = connections_.begin(); each != connections_.end();) {
    const short events = sources[at++].revents;
    const bool goes_on = events == 0 || handle(*each);
    if (!goes_on) end(*each);
    each = goes_on ? std::next(each) : connections_.erase(each);
  }
  const Clock::time_point now = Clock::now();
  for (const Connection& each : connections_)
    if (each.session) each.session->expire(now);
  // Sends as much as possible of the frames that sessions have queued.
  for (auto each = connections_.begin(); each != connections_.end();) {
    const bool goes_on = each->write() && !(each->refused && !each->wants_to_write());
    if (!goes_on) end(*each);
    each = goes_on ? std::next(each) : connections_.erase(each);
  }
  for (size_t i = 0; i < listeners; ++i)
    if (sources[1 + i].revents != 0) accept_some(sources[1 + i].fd);
  drop_strangers();
}

void Server::accept_some(int listener) {
  for (int i = 0; i < kMostAccepted; ++i) {
    SocketAddress from;
    from.length = sizeof from.storage;
    const int fd = accept4(listener, from.at(), &from.length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      accepts_ = errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
      return;
    }
    connections_.emplace_back(fd, from);
  }
}

bool Server::handle(Connection& connection) {
  if (!connection.read()) return false;
  if (connection.refused) return true;
  if (!connection.session && !greet(connection)) return false;
  while (connection.session) {
    FrameHead head{};
    if (connection.received().size() < sizeof head) return true;
    std::memcpy(&head, connection.received().data(), sizeof head);
    if (head.bytes > kMostBytes) return false;
    const auto frame = connection.take(sizeof head + head.bytes);
    if (!frame) return true;
    const ConstBytes payload = ConstBytes(*frame).subspan(sizeof head);
    if (head.kind == static_cast<uint32_t>(FrameKind::data))
      connection.session->contribute(connection.rank, payload);
    else
      connection.session->give_up(
          connection.rank,
          std::string(reinterpret_cast<const char*>(payload.data()), payload.size()));
  }
  return true;
}

bool Server::greet(Connection& connection) {
  Greeting greeting{};
  const ConstBytes got = connection.received();
  const size_t known = std::min(got.size(), sizeof greeting.magic);
  if (std::memcmp(got.data(), &kMagic, known) != 0) return false;
  const auto bytes = connection.take(sizeof greeting);
  if (!bytes) return true;
  std::memcpy(&greeting, bytes->data(), sizeof greeting);
  Session* const session = session_of(greeting.secret);
  if (!session) return false;
  connection.rank = session->join(connection, greeting);
  connection.refused = connection.rank < 0;
  if (!connection.refused) connection.session = session;
  return true;
}

Session* Server::session_of(const Secret& secret) {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(secret);
  return found == sessions_.end() ? nullptr : found->second.get();
}

void Server::end(Connection& connection) {
  if (connection.session) connection.session->leave(connection.rank);
}

void Server::drop_strangers() {
  const Clock::time_point now = Clock::now();
  auto strangers = static_cast<size_t>(
      std::ranges::count_if(connections_, [](const Connection& each) { return !each.session; }));
  // The list begins with the oldest connections.
  for (auto each = connections_.begin(); each != connections_.end();) {
    const bool drops =
        !each->session && (strangers > kMostStrangers || now - each->since() > kGreetingTime);
    if (drops) --strangers;
    each = drops ? connections_.erase(each) : std::next(each);
  }
}

}  // namespace sparsecoll::rendezvous
