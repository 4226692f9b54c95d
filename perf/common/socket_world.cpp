// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/socket_world.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

namespace sparsecoll::perf {
namespace {

int number_in(const char* variable) {
  const char* value = std::getenv(variable);
  if (!value) throw std::runtime_error(std::string(variable) + " is not set; use perf/launch");
  return std::atoi(value);
}

/// Returns the address of MASTER_ADDR and MASTER_PORT.
sockaddr_in master() {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET;
  const char* host = std::getenv("MASTER_ADDR");
  if (!host || getaddrinfo(host, nullptr, &hints, &found) != 0)
    throw std::runtime_error("MASTER_ADDR is not the name of a host");
  sockaddr_in address{};
  std::memcpy(&address, found->ai_addr, sizeof address);
  freeaddrinfo(found);
  address.sin_port = htons(static_cast<std::uint16_t>(number_in("MASTER_PORT")));
  return address;
}

/// Returns rank 0's connections, by rank; the first one is not used.
std::vector<Line> accept_all(int ranks) {
  const int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
  const sockaddr_in address = master();
  setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listening, ranks) != 0)
    throw std::runtime_error(std::string("MASTER_PORT: ") + std::strerror(errno));
  std::vector<Line> lines(static_cast<std::size_t>(ranks), Line(-1));
  for (int r = 1; r < ranks; ++r) {
    const Line line(accept(listening, nullptr, nullptr));
    int rank = 0;
    const auto greeting = line.receive();
    if (greeting.size() == sizeof rank) std::memcpy(&rank, greeting.data(), sizeof rank);
    if (rank < 1 || rank >= ranks)
      throw std::runtime_error("RANK: expected 1 to " + std::to_string(ranks - 1) +
                               " on the ranks that connect to rank 0, got " + std::to_string(rank));
    lines[static_cast<std::size_t>(rank)] = line;
  }
  close(listening);
  return lines;
}

Line connect_to_first(int rank) {
  const sockaddr_in address = master();
  for (int tries = 0; tries < 600; ++tries) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      const Line line(fd);
      line.send(std::as_bytes(std::span(&rank, 1)));
      return line;
    }
    close(fd);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  throw std::runtime_error("rank 0 does not listen at MASTER_ADDR, MASTER_PORT");
}

}  // namespace

Line::Line(int fd) : fd_(fd) {
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void Line::send(std::span<const std::byte> bytes) const {
  const std::uint64_t length = bytes.size();
  send_all(&length, sizeof length);
  send_all(bytes.data(), bytes.size());
}

std::vector<std::byte> Line::receive() const {
  std::uint64_t length = 0;
  receive_all(&length, sizeof length);
  std::vector<std::byte> bytes(length);
  receive_all(bytes.data(), bytes.size());
  return bytes;
}

void Line::send_all(const void* data, std::size_t bytes) const {
  const char* at = static_cast<const char*>(data);
  for (ssize_t sent = 0; bytes > 0; at += sent, bytes -= static_cast<std::size_t>(sent)) {
    sent = ::send(fd_, at, bytes, MSG_NOSIGNAL);
    if (sent <= 0) throw std::runtime_error("a rank has ended");
  }
}

void Line::receive_all(void* data, std::size_t bytes) const {
  char* at = static_cast<char*>(data);
  for (ssize_t got = 0; bytes > 0; at += got, bytes -= static_cast<std::size_t>(got)) {
    got = recv(fd_, at, bytes, 0);
    if (got <= 0) throw std::runtime_error("a rank has ended");
  }
}

bool SocketWorld::is_launched() {
  for (const char* variable : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
    if (!std::getenv(variable)) return false;
  return true;
}

SocketWorld::SocketWorld() : rank_(number_in("RANK")), size_(number_in("WORLD_SIZE")) {
  if (rank_ == 0)
    lines_ = accept_all(size_);
  else
    lines_.push_back(connect_to_first(rank_));
}

std::vector<std::vector<std::byte>> SocketWorld::allgather(std::span<const std::byte> mine) const {
  std::vector<std::vector<std::byte>> all;
  if (rank_ != 0) {
    lines_[0].send(mine);
    for (int r = 0; r < size_; ++r) all.push_back(lines_[0].receive());
    return all;
  }
  all.emplace_back(mine.begin(), mine.end());
  for (int r = 1; r < size_; ++r) all.push_back(lines_[static_cast<std::size_t>(r)].receive());
  for (int r = 1; r < size_; ++r)
    for (const auto& each : all) lines_[static_cast<std::size_t>(r)].send(each);
  return all;
}

}  // namespace sparsecoll::perf
