// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/rendezvous/client.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

namespace sparsecoll::rendezvous {

namespace {

constexpr auto kForever = std::chrono::hours(24 * 20);
/// The time for which a client tries a server that refuses connections. It is short: a server
/// listens before any rank gets its id.
constexpr auto kRefused = std::chrono::seconds(3);
constexpr auto kPause = std::chrono::milliseconds(50);
/// The number of times that the connection may end before the server has answered.
constexpr int kMostTries = 20;
/// The server stops waiting this long before the deadline, so that its report of the missing ranks
/// arrives in time.
constexpr auto kMargin = std::chrono::milliseconds(300);
constexpr size_t kLongestAnswer = size_t{1} << 32;

}  // namespace

Client::Client(const UniqueId& id, const Numbering& numbering, const Deadline& deadline)
    : id_(id), numbering_(numbering), deadline_(deadline) {
  connect();
}

Client::~Client() { disconnect(); }

void Client::disconnect() noexcept {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

Clock::duration Client::left() const { return deadline_.within(kForever) - Clock::now(); }

void Client::wait(short events) {
  pollfd source{fd_, events, 0};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(this->left());
    if (left.count() <= 0)
      fail(sparsecollTimeout, "deadline passed, nothing was heard from the rendezvous at ",
           id_.server.name());
    if (poll(&source, 1, static_cast<int>(std::min<int64_t>(left.count(), 1000))) > 0) return;
  }
}

bool Client::try_to_connect() {
  fd_ = socket(id_.server.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) fail(sparsecollSystemError, "socket: ", std::strerror(errno));
  if (::connect(fd_, id_.server.at(), id_.server.length) == 0) return true;
  if (errno != EINPROGRESS) return false;
  wait(POLLOUT);
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &length);
  errno = error;
  return error == 0;
}

void Client::connect() {
  const Clock::time_point start = Clock::now();
  while (!try_to_connect()) {
    const int error = errno;
    disconnect();
    if (Clock::now() - start > kRefused || left() <= kPause)
      fail(sparsecollSystemError, "cannot connect to the rendezvous at ", id_.server.name(), ": ",
           std::strerror(error), "; has the process that made the id ended?");
    std::this_thread::sleep_for(kPause);
  }
  greet();
}

void Client::greet() {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(this->left());
  const bool limited = left < kForever / 2;
  const auto told = left - std::min<std::chrono::milliseconds>(kMargin, left / 4);
  const Greeting greeting{
      kMagic,
      id_.secret,
      SPARSECOLL_VERSION,
      static_cast<uint32_t>(numbering_.rank),
      static_cast<uint32_t>(numbering_.ranks),
      limited ? static_cast<uint32_t>(std::max<int64_t>(told.count(), 0)) : kNoTimeout};
  write(std::as_bytes(std::span(&greeting, 1)));  // a failure shows when the answer is missing
}

bool Client::write(ConstBytes bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0)
      bytes = bytes.subspan(static_cast<size_t>(sent));
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
      wait(POLLOUT);
    else if (errno != EINTR)
      return false;
  }
  return true;
}

bool Client::read(std::byte* to, size_t bytes) {
  while (bytes > 0) {
    const ssize_t got = recv(fd_, to, bytes, 0);
    if (got == 0) return false;
    if (got > 0) {
      to += got;
      bytes -= static_cast<size_t>(got);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      wait(POLLIN);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

std::vector<std::byte> Client::exchange(const Frame& own) {
  write(*own);  // after a failure the server's answer may have the reason
  FrameHead head{};
  if (!read(reinterpret_cast<std::byte*>(&head), sizeof head) || head.bytes > kLongestAnswer)
    return {};
  std::vector<std::byte> payload(head.bytes);
  if (!read(payload.data(), payload.size())) return {};
  answered_ = true;
  if (head.kind == static_cast<uint32_t>(FrameKind::failure))
    throw Error(static_cast<sparsecollResult_t>(head.code),
                std::string(reinterpret_cast<const char*>(payload.data()), payload.size()));
  return payload;
}

std::vector<std::byte> Client::allgather(ConstBytes own) {
  const Frame frame = make_frame(FrameKind::data, 0, own);
  for (int tries = 1;; ++tries) {
    std::vector<std::byte> all = exchange(frame);
    if (all.size() == own.size() * static_cast<size_t>(numbering_.ranks)) return all;
    if (answered_ || tries == kMostTries)
      fail(sparsecollSystemError, "the rendezvous at ", id_.server.name(),
           answered_ ? " has ended the connection" : " does not know this id");
    // The server has closed the connection before it knew this rank.
    disconnect();
    std::this_thread::sleep_for(kPause);
    connect();
  }
}

void Client::give_up(const Error& error) noexcept {
  try {
    const Frame frame = make_frame(FrameKind::failure, static_cast<uint32_t>(error.code()),
                                   bytes_of(std::string(error.what())));
    if (fd_ >= 0) write(*frame);
  } catch (const std::exception&) {
    // The end of the connection notifies the others, too.
  }
}

}  // namespace sparsecoll::rendezvous
