// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// A process is killed between another one's connect() to it and the first send(). This program's
// own listen() and connect(), which UCX calls instead of the system's, make that certain.

#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <new>
#include <thread>

#include "support/catch.hpp"
#include "support/processes.hpp"
#include "support/ranks.hpp"
#include "support/survivor.hpp"
#include "support/variable.hpp"

namespace sparsecoll::test {
namespace {

constexpr int kVictim = 2;

/// All processes share this record of the victim.
struct Victim {
  static constexpr int kMostPorts = 64;
  std::atomic<pid_t> process{0};
  std::atomic<int> ports{0};
  std::atomic<in_port_t> port[kMostPorts]{};
  std::atomic<bool> wanted{false};  ///< the next process that connects to it kills it
  std::atomic<bool> killed{false};

  bool listens_at(in_port_t wanted_port) const {
    for (int i = 0; i < ports; ++i)
      if (port[i] == wanted_port) return true;
    return false;
  }
};
Victim* victim = nullptr;

in_port_t port_of(const sockaddr* address, socklen_t bytes) {
  sockaddr_in own{};
  if (address->sa_family != AF_INET || bytes < sizeof own) return 0;
  std::memcpy(&own, address, sizeof own);
  return own.sin_port;
}

/// Kills the victim and waits until the system has ended its connections.
void kill_victim(int connection) {
  kill(victim->process, SIGKILL);
  victim->killed = true;
  pollfd end{connection, POLLRDHUP, 0};
  poll(&end, 1, 5000);
}

}  // namespace
}  // namespace sparsecoll::test

extern "C" int listen(int socket, int most) {
  using namespace sparsecoll::test;
  const auto result = static_cast<int>(syscall(SYS_listen, socket, most));
  sockaddr_in own{};
  socklen_t bytes = sizeof own;
  if (result == 0 && victim && getpid() == victim->process &&
      getsockname(socket, reinterpret_cast<sockaddr*>(&own), &bytes) == 0 &&
      own.sin_family == AF_INET && victim->ports < Victim::kMostPorts)
    victim->port[victim->ports++] = own.sin_port;
  return result;
}

extern "C" int connect(int socket, const sockaddr* address, socklen_t bytes) {
  using namespace sparsecoll::test;
  const auto result = static_cast<int>(syscall(SYS_connect, socket, address, bytes));
  const int error = errno;
  if (victim && victim->wanted && victim->listens_at(port_of(address, bytes)) &&
      victim->wanted.exchange(false))
    kill_victim(socket);
  errno = error;
  return result;
}

namespace sparsecoll::test {
namespace {

/// Ranks 0 and 1 shrink with different lists, so that one of them connects to the victim.
std::string run_rank(int rank, const sparsecollUniqueId& id) {
  if (rank == kVictim) victim->process = getpid();
  sparsecollComm_t comm = nullptr, shrunk = nullptr;
  sparsecollConfig_t config = config_of(kOktopk);
  config.timeoutMs = 20000;
  if (sparsecollCommInitRank(&comm, 3, id, rank, &config) != sparsecollSuccess)
    return sparsecollGetLastError(nullptr);
  if (rank == kVictim) {
    victim->wanted = true;
    std::this_thread::sleep_for(std::chrono::seconds(60));
    return "was not killed";
  }
  while (!victim->wanted && !victim->killed)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  sparsecollResult_t result =
      sparsecollCommShrink(comm, rank == 1 ? &kVictim : nullptr, rank, &shrunk, nullptr);
  if (result != sparsecollSuccess)
    result = sparsecollCommShrink(comm, &kVictim, 1, &shrunk, nullptr);
  if (result != sparsecollSuccess) return "shrink: " + explain(result, comm);
  if (!victim->killed) return "nobody connected to the victim";
  sparsecollCommAbort(comm);
  sparsecollCommDestroy(comm);
  result = sparsecollCommDestroy(shrunk);
  return result == sparsecollSuccess ? "" : explain(result, nullptr);
}

TEST_CASE("a process may be killed just after another one has connected to it") {
  // The network is TCP, also on machines with InfiniBand; within the machine UCX uses memory.
  const Variable devices("UCX_NET_DEVICES", "lo");
  unsetenv("UCX_TLS");
  void* const shared =
      mmap(nullptr, sizeof(Victim), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(shared != MAP_FAILED);
  for (int round = 0; round < 8; ++round) {
    victim = new (shared) Victim;
    CHECK(joined(run_processes(3, 60, run_rank), kVictim) == "");
    victim = nullptr;
  }
  munmap(shared, sizeof(Victim));
}

}  // namespace
}  // namespace sparsecoll::test
