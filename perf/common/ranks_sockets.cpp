// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Ranks that perf/launch or torchrun has started, without MPI. Each has a TCP connection to rank 0.
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "common/ranks.hpp"

namespace sparsecoll::perf {
namespace {

int number_in(const char* variable) {
  const char* value = std::getenv(variable);
  if (!value) throw std::runtime_error(std::string(variable) + " is not set; use perf/launch");
  return std::atoi(value);
}

/// A connection that carries messages: a length, and then that many bytes.
class Line {
 public:
  explicit Line(int fd) : fd_(fd) {
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  void send(std::span<const std::byte> bytes) const {
    const std::uint64_t length = bytes.size();
    send_all(&length, sizeof length);
    send_all(bytes.data(), bytes.size());
  }
  Bytes receive() const {
    std::uint64_t length = 0;
    receive_all(&length, sizeof length);
    Bytes bytes(length);
    receive_all(bytes.data(), bytes.size());
    return bytes;
  }

 private:
  void send_all(const void* data, std::size_t bytes) const {
    const char* at = static_cast<const char*>(data);
    for (ssize_t sent = 0; bytes > 0; at += sent, bytes -= static_cast<std::size_t>(sent)) {
      sent = ::send(fd_, at, bytes, MSG_NOSIGNAL);
      if (sent <= 0) throw std::runtime_error("a rank has ended");
    }
  }
  void receive_all(void* data, std::size_t bytes) const {
    char* at = static_cast<char*>(data);
    for (ssize_t got = 0; bytes > 0; at += got, bytes -= static_cast<std::size_t>(got)) {
      got = recv(fd_, at, bytes, 0);
      if (got <= 0) throw std::runtime_error("a rank has ended");
    }
  }
  int fd_;
};

/// Returns the address that MASTER_ADDR and MASTER_PORT name.
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
    const Bytes greeting = line.receive();
    std::memcpy(&rank, greeting.data(), sizeof rank);
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

class SocketRanks final : public Ranks {
 public:
  SocketRanks() : Ranks(number_in("RANK"), number_in("WORLD_SIZE")) {
    if (rank() == 0)
      lines_ = accept_all(size());
    else
      lines_.push_back(connect_to_first(rank()));
  }

  void barrier() override { allgather({}); }

  std::vector<Bytes> allgather(std::span<const std::byte> mine) override {
    std::vector<Bytes> all{Bytes(mine.begin(), mine.end())};
    if (rank() == 0) {
      for (int r = 1; r < size(); ++r) all.push_back(lines_[static_cast<std::size_t>(r)].receive());
      for (int r = 1; r < size(); ++r)
        for (const Bytes& each : all) lines_[static_cast<std::size_t>(r)].send(each);
      return all;
    }
    lines_[0].send(mine);
    all.clear();
    for (int r = 0; r < size(); ++r) all.push_back(lines_[0].receive());
    return all;
  }

  Communicator connect(const sparsecollConfig_t& config) override {
    sparsecollUniqueId id{};
    if (rank() == 0) require(sparsecollGetUniqueId(&id), nullptr, "sparsecollGetUniqueId");
    id = gather_value(id).front();
    sparsecollComm_t comm = nullptr;
    require(sparsecollCommInitRank(&comm, size(), id, rank(), &config), nullptr,
            "sparsecollCommInitRank");
    return Communicator(comm);
  }

 private:
  std::vector<Line> lines_;
};

}  // namespace

bool launched_without_mpi() {
  for (const char* variable : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
    if (!std::getenv(variable)) return false;
  return true;
}

int launch_sockets(const Body& body) {
  try {
    SocketRanks ranks;
    return body(ranks);
  } catch (const std::exception& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "rank %s: %s\n", std::getenv("RANK"), error.what());
    return 1;
  }
}

}  // namespace sparsecoll::perf
