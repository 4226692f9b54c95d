// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/rendezvous/connection.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace sparsecoll::rendezvous {

namespace {

bool is_temporary(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

Connection::~Connection() { close(fd_); }

bool Connection::write() {
  while (!outgoing_.empty()) {
    const std::vector<std::byte>& frame = *outgoing_.front();
    const ssize_t sent =
        ::send(fd_, frame.data() + written_, frame.size() - written_, MSG_NOSIGNAL);
    if (sent < 0) return is_temporary(errno);
    written_ += static_cast<size_t>(sent);
    if (written_ < frame.size()) continue;
    outgoing_.pop_front();
    written_ = 0;
  }
  return true;
}

bool Connection::read() {
  std::array<std::byte, 16384> some;
  const ssize_t got = recv(fd_, some.data(), some.size(), 0);
  if (got == 0) return false;
  if (got < 0) return is_temporary(errno);
  received_.insert(received_.end(), some.begin(), some.begin() + got);
  return true;
}

std::optional<std::vector<std::byte>> Connection::take(size_t bytes) {
  if (received_.size() < bytes) return std::nullopt;
  const auto end = received_.begin() + static_cast<std::ptrdiff_t>(bytes);
  std::vector<std::byte> taken(received_.begin(), end);
  received_.erase(received_.begin(), end);
  return taken;
}

}  // namespace sparsecoll::rendezvous
