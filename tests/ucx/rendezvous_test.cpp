// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// The rendezvous of ranks that start with an id: who does not come, who comes twice, who differs,
// and strangers.

#include <arpa/inet.h>
#include <sparsecoll/sparsecoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>

#include "support/catch.hpp"
#include "support/ranks.hpp"
#include "transport/rendezvous/client.hpp"
#include "transport/rendezvous/interfaces.hpp"
#include "transport/rendezvous/server.hpp"

namespace sparsecoll::rendezvous {
namespace {

using std::chrono::milliseconds;

SocketAddress loopback(int family) {
  const in_addr v4{htonl(INADDR_LOOPBACK)};
  return family == AF_INET ? SocketAddress::make(AF_INET, &v4, 0)
                           : SocketAddress::make(AF_INET6, &in6addr_loopback, 0);
}

UniqueId new_id(int family = AF_INET) { return Server::of_process().open(loopback(family)); }

/// The outcome of the rendezvous for one rank.
struct Outcome {
  sparsecollResult_t code = sparsecollSuccess;
  std::string message;
  std::vector<std::byte> all;
};

/// Returns the bytes that `gather` returns, or the error that it throws.
template <class Gather>
Outcome outcome_of(const Gather& gather) {
  Outcome outcome;
  try {
    outcome.all = gather();
  } catch (const Error& error) {
    outcome.code = error.code();
    outcome.message = error.what();
  }
  return outcome;
}

/// Passes one byte, the number of the rank.
std::vector<std::byte> gather_ranks(Client& client, int rank) {
  const std::byte own{static_cast<unsigned char>(rank)};
  return client.allgather(std::span(&own, 1));
}

/// Comes as this rank.
Outcome come(const UniqueId& id, int rank, int ranks, int timeout_ms = 60000) {
  return outcome_of([&] {
    Client client(id, {rank, ranks}, Deadline::after(timeout_ms));
    return gather_ranks(client, rank);
  });
}

/// All come at the same time, each as it likes.
std::vector<Outcome> come_together(const std::vector<std::function<Outcome()>>& ranks) {
  std::vector<Outcome> outcomes(ranks.size());
  const std::string errors =
      test::run_threads("rendezvous", static_cast<int>(ranks.size()), [&](int r) {
        outcomes[static_cast<size_t>(r)] = ranks[static_cast<size_t>(r)]();
        return std::string();
      });
  CHECK(errors == "");
  return outcomes;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void check_complete(const std::vector<Outcome>& outcomes) {
  for (const Outcome& each : outcomes) {
    CHECK(each.message == "");
    REQUIRE(each.all.size() == outcomes.size());
    for (size_t r = 0; r < each.all.size(); ++r)
      CHECK(each.all[r] == std::byte{static_cast<unsigned char>(r)});
  }
}

TEST_CASE("ranks meet, over IPv4 and IPv6") {
  for (const int family : {AF_INET, AF_INET6}) {
    if (family == AF_INET6) {
      const int probe = socket(AF_INET6, SOCK_STREAM, 0);
      const SocketAddress address = loopback(AF_INET6);
      const bool works = probe >= 0 && bind(probe, address.at(), address.length) == 0;
      if (probe >= 0) close(probe);
      if (!works) continue;  // a machine without IPv6
    }
    const UniqueId id = new_id(family);
    const UniqueId decoded = decode(encode(id));
    CHECK(decoded.server.name() == id.server.name());
    std::vector<std::function<Outcome()>> ranks;
    for (int r = 0; r < 5; ++r) ranks.push_back([&decoded, r] { return come(decoded, r, 5); });
    check_complete(come_together(ranks));
  }
}

TEST_CASE("other bytes are no id") {
  sparsecollUniqueId id = encode(new_id());
  for (const size_t at : {size_t{0}, size_t{9}, size_t{25}, size_t{100}, size_t{127}}) {
    sparsecollUniqueId other = id;
    other.internal[at] = static_cast<char>(other.internal[at] ^ 1);
    sparsecollComm_t comm = nullptr;
    CHECK(sparsecollCommInitRank(&comm, 1, other, 0, nullptr) == sparsecollInvalidArgument);
  }
}

TEST_CASE("arguments of the inits are checked") {
  sparsecollUniqueId id{};
  CHECK(sparsecollGetUniqueId(nullptr) == sparsecollInvalidArgument);
  REQUIRE(sparsecollGetUniqueId(&id) == sparsecollSuccess);
  sparsecollComm_t comm = nullptr;
  const auto never = [](void*, const void*, void*, size_t) { return 1; };
  for (const auto& [nranks, rank] : {std::pair{0, 0}, {-1, 0}, {2, 2}, {2, -1}}) {
    CHECK(sparsecollCommInitRank(&comm, nranks, id, rank, nullptr) == sparsecollInvalidArgument);
    CHECK(sparsecollCommInitOob(&comm, nranks, rank, never, nullptr, nullptr) ==
          sparsecollInvalidArgument);
  }
  CHECK(sparsecollCommInitRank(nullptr, 1, id, 0, nullptr) == sparsecollInvalidArgument);
  CHECK(sparsecollCommInitOob(&comm, 1, 0, nullptr, nullptr, nullptr) == sparsecollInvalidArgument);
  CHECK(sparsecollCommInitOob(&comm, 1, 0, never, nullptr, nullptr) == sparsecollSystemError);
  CHECK(has(sparsecollGetLastError(nullptr), "returned 1"));
}

TEST_CASE("ranks that do not come are named before the deadline") {
  const UniqueId id = new_id();
  const auto start = Clock::now();
  Client patient(id, {3, 5}, Deadline::after(60000));
  const auto outcomes =
      come_together({[&] { return come(id, 0, 5, 1500); },
                     [&] { return outcome_of([&] { return gather_ranks(patient, 3); }); }});
  CHECK(Clock::now() - start < milliseconds(30000));
  for (const Outcome& each : outcomes) {
    CHECK(each.code == sparsecollTimeout);
    CHECK(has(each.message, "ranks 1, 2, 4 of 5 did not come"));
  }
  const Outcome late = come(id, 1, 5);
  CHECK(late.code == sparsecollInvalidUsage);
  CHECK(has(late.message, "ranks 1, 2, 4 of 5"));
}

TEST_CASE("a rank that comes twice ends it for all, who are told from where") {
  const UniqueId id = new_id();
  const auto outcomes =
      come_together({[&] { return come(id, 0, 3); }, [&] { return come(id, 1, 3); },
                     [&] { return come(id, 1, 3); }});
  for (const Outcome& each : outcomes) {
    CHECK(each.code == sparsecollInvalidUsage);
    CHECK(has(each.message, "rank 1 came twice: from 127.0.0.1:"));
  }
}

TEST_CASE("ranks that pass different numbers of ranks are named") {
  const UniqueId id = new_id();
  const auto outcomes =
      come_together({[&] { return come(id, 0, 3); }, [&] { return come(id, 1, 4); }});
  for (const Outcome& each : outcomes) {
    CHECK(each.code == sparsecollInvalidUsage);
    CHECK(has(each.message, "rank 1 passed 4"));
    CHECK(has(each.message, "rank 0 passed 3"));
  }
}

TEST_CASE("an id makes one communicator") {
  const UniqueId id = new_id();
  check_complete(come_together({[&] { return come(id, 0, 2); }, [&] { return come(id, 1, 2); }}));
  const Outcome again = come(id, 0, 2);
  CHECK(again.code == sparsecollInvalidUsage);
  CHECK(has(again.message, "was used before"));
}

TEST_CASE("a rank that fails tells the others why, and one that leaves is named") {
  for (const bool tells : {true, false}) {
    const UniqueId id = new_id();
    // Both have come when each has the bytes of the other.
    const auto meet = [&id](int rank) {
      auto client = std::make_unique<Client>(id, Numbering{rank, 2}, Deadline::after(60000));
      gather_ranks(*client, rank);
      return client;
    };
    const auto outcomes = come_together(
        {[&] { return outcome_of([client = meet(0)] { return gather_ranks(*client, 0); }); },
         [&] {
           const auto client = meet(1);
           if (tells) client->give_up(Error(sparsecollSystemError, "no UCX here"));
           return Outcome{};
         }});
    CHECK(outcomes[0].code == sparsecollRemoteError);
    CHECK(
        has(outcomes[0].message, tells ? "rank 1 failed in the init: no UCX here" : "rank 1 left"));
  }
}

/// A connection to the server of an id that sends what it likes.
class Stranger {
 public:
  explicit Stranger(const UniqueId& id) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (connect(fd_, id.server.at(), id.server.length) != 0) FAIL("connect");
  }
  ~Stranger() { close(fd_); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  void send(ConstBytes bytes) { ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  /// Returns the payload of the frame that the server sends; "" if it ends the connection instead.
  std::string receive() {
    FrameHead head{};
    if (recv(fd_, &head, sizeof head, MSG_WAITALL) != sizeof head) return "";
    std::string payload(head.bytes, '\0');
    return recv(fd_, payload.data(), payload.size(), MSG_WAITALL) ==
                   static_cast<ssize_t>(payload.size())
               ? payload
               : "";
  }

 private:
  int fd_;
};

Greeting greeting_of(const UniqueId& id, int rank, int ranks) {
  return {kMagic,
          id.secret,
          SPARSECOLL_VERSION,
          static_cast<uint32_t>(rank),
          static_cast<uint32_t>(ranks),
          kNoTimeout};
}

TEST_CASE("another version of the library is named") {
  const UniqueId id = new_id();
  const auto outcomes = come_together({[&] { return come(id, 0, 2); },
                                       [&] {
                                         Greeting other = greeting_of(id, 1, 2);
                                         other.version = 999;
                                         Stranger stranger(id);
                                         stranger.send(std::as_bytes(std::span(&other, 1)));
                                         return Outcome{sparsecollSuccess, stranger.receive(), {}};
                                       }});
  CHECK(outcomes[0].code == sparsecollInvalidUsage);
  for (const Outcome& each : outcomes) {
    CHECK(has(each.message, "rank 1 has 999"));
    CHECK(has(each.message, "rank 0 has"));
  }
}

TEST_CASE("garbage and those without the secret are sent away, and the ranks meet") {
  const UniqueId id = new_id();
  const std::string page = "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n";
  Greeting wrong = greeting_of(id, 0, 2);
  wrong.secret[0] ^= 1;
  const std::vector<std::byte> zeros(100000);
  for (const ConstBytes each :
       {bytes_of(page), std::as_bytes(std::span(&wrong, 1)), ConstBytes(zeros)}) {
    Stranger stranger(id);
    stranger.send(each);
    CHECK(stranger.receive() == "");
  }
  Stranger silent(id), half(id);
  half.send(std::as_bytes(std::span(&wrong, 1)).first(20));
  check_complete(come_together({[&] { return come(id, 0, 2); }, [&] { return come(id, 1, 2); }}));
}

TEST_CASE("a rank that passes a frame of any size does no harm") {
  const UniqueId id = new_id();
  const Greeting greeting = greeting_of(id, 0, 2);
  const FrameHead head{1, 0, ~uint64_t{0}};
  Stranger stranger(id);
  stranger.send(std::as_bytes(std::span(&greeting, 1)));
  stranger.send(std::as_bytes(std::span(&head, 1)));
  CHECK(stranger.receive() == "");
  check_complete(come_together({[&] { return come(id, 0, 2); }, [&] { return come(id, 1, 2); }}));
}

TEST_CASE("10,000 connections of strangers do not keep the ranks from meeting") {
  const UniqueId id = new_id();
  const auto strangers = [&](int count) {
    std::vector<std::unique_ptr<Stranger>> open;  // as many at once as descriptors allow
    for (int i = 0; i < count; ++i) {
      if (open.size() == 100) open.erase(open.begin());
      open.push_back(std::make_unique<Stranger>(id));
    }
  };
  std::vector<std::function<Outcome()>> all;
  for (int r = 0; r < 3; ++r)
    all.push_back([&id, r] {
      std::this_thread::sleep_for(milliseconds(100 * r));
      return come(id, r, 3, 30000);
    });
  all.push_back([&] {
    strangers(10000);
    return Outcome{};
  });
  std::vector<Outcome> outcomes = come_together(all);
  outcomes.pop_back();
  check_complete(outcomes);
}

TEST_CASE("the address is that of the interface that is asked for") {
  const auto at = [](const char* name, const char* address, bool is_loopback = false) {
    in_addr v4{};
    in6_addr v6{};
    const bool is_v4 = inet_pton(AF_INET, address, &v4) == 1;
    if (!is_v4) inet_pton(AF_INET6, address, &v6);
    return Interface{
        name, is_v4 ? SocketAddress::make(AF_INET, &v4, 0) : SocketAddress::make(AF_INET6, &v6, 0),
        is_loopback};
  };
  const std::vector<Interface> all{at("lo", "127.0.0.1", true), at("docker0", "172.17.0.1"),
                                   at("eth0", "fd00::1"),       at("eth1", "10.0.0.1"),
                                   at("eth10", "10.0.0.2"),     at("ib0", "10.1.0.1")};
  const auto chosen = [&all](const char* wanted) { return choose_address(all, wanted).name(); };
  CHECK(chosen("") == "10.0.0.1:0");
  CHECK(chosen("ib") == "10.1.0.1:0");
  CHECK(chosen("eth0") == "[fd00::1]:0");
  CHECK(chosen("=eth10") == "10.0.0.2:0");
  CHECK(chosen("lo") == "127.0.0.1:0");
  CHECK(chosen("^eth,lo") == "10.1.0.1:0");
  CHECK(chosen("docker,lo") == "172.17.0.1:0");
  CHECK_THROWS_AS(chosen("wlan"), Error);
  CHECK(choose_address({all[0], all[1]}, "").name() == "172.17.0.1:0");
  CHECK(choose_address({all[0]}, "").name() == "127.0.0.1:0");
  CHECK_THROWS_AS(choose_address({}, ""), Error);
}

}  // namespace
}  // namespace sparsecoll::rendezvous
