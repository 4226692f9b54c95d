// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Transports over NCCL's stand-in whose peers do not come, break, or are interrupted.

#include <optional>
#include <thread>

#include "api/sanitizers.hpp"
#include "nccl/stand_in_library.hpp"
#include "nccl/team.hpp"
#include "support/catch.hpp"

namespace sparsecoll::nccl_tests {
namespace {

using std::chrono::milliseconds;

/// Of what must be over at once, on a machine that has other things to do.
constexpr double kAtOnce = 1.0;

/// Sends to the other one of two ranks and receives from it.
class Swap {
 public:
  explicit Swap(StreamTransport& transport)
      : transport_(transport), peer_(1 - transport.rank()), out_(Payload(100)), in_(100) {}
  void exchange(const Deadline& deadline) {
    const StreamTransfer both[] = {{peer_, sent(out_), filled(in_), true, true}};
    transport_.exchange(both, stream_, deadline);
  }
  const OwnStream& stream() const { return stream_; }

 private:
  StreamTransport& transport_;
  const int peer_;
  DeviceArray<std::byte> out_, in_;
  const OwnStream stream_;
};

TEST_CASE("an exchange that is stuck on the device ends when it is interrupted") {
  const Callers callers(2);
  const Transports transports = make_transports(callers);
  CHECK(on_ranks("stuck", transports, [](StreamTransport& transport) -> std::string {
          Swap swap(transport);
          swap.exchange(patience());
          swap.stream().wait();
          if (transport.rank() == 1) return "";  // and does not come any more
          swap.exchange(patience());
          Clock::time_point start{};
          std::thread watchdog([&] {
            std::this_thread::sleep_for(milliseconds(50));
            start = Clock::now();
            transport.interrupt();
            transport.interrupt();
          });
          swap.stream().wait();
          watchdog.join();
          if (seconds_since(start) > kAtOnce) return text(seconds_since(start), " s");
          return expect(thrown([&] { swap.exchange(patience()); }), sparsecollInvalidUsage,
                        "closed or interrupted");
        }) == "");
}

TEST_CASE("an exchange that waits for connections ends when it is interrupted, by several too") {
  const Callers callers(2);
  const Transports transports = make_transports(callers);
  devices::check(cudaSetDevice(callers.device(0)));
  Swap swap(*transports[0]);
  std::vector<std::thread> watchdogs;
  for (int i = 0; i < 3; ++i)
    watchdogs.emplace_back([&] {
      std::this_thread::sleep_for(milliseconds(50));
      transports[0]->interrupt();
    });
  const Clock::time_point start = Clock::now();
  const Thrown wrong = thrown([&] { swap.exchange(patience()); });
  CHECK(seconds_since(start) < 0.05 + kAtOnce);
  CHECK(expect(wrong, sparsecollInvalidUsage, "closed or interrupted") == "");
  for (std::thread& watchdog : watchdogs) watchdog.join();
}

TEST_CASE("a peer that does not come to the first exchange or a split: Timeout") {
  using Step = void (*)(StreamTransport&, const Deadline&);
  const std::pair<Step, const char*> steps[] = {
      {[](StreamTransport& t, const Deadline& deadline) { Swap(t).exchange(deadline); },
       "not all of rank 1 have made this exchange"},
      {[](StreamTransport& t, const Deadline& deadline) { t.split(0, 0, deadline); },
       "ncclCommSplit: not all ranks"},
  };
  for (const auto& step : steps) {
    {
      const Callers callers(2);
      const Transports transports = make_transports(callers);
      devices::check(cudaSetDevice(callers.device(0)));
      const Clock::time_point start = Clock::now();
      const Thrown wrong = thrown([&] { step.first(*transports[0], Deadline::after(100)); });
      CHECK(seconds_since(start) > 0.1);
      CHECK(seconds_since(start) < 0.1 + kAtOnce);
      CHECK(expect(wrong, sparsecollTimeout, step.second) == "");
    }
    CHECK(nccl_stand_in::leftovers() == "");
  }
}

TEST_CASE("a rank that does not come to the init: Timeout, and its peer is free to come late") {
  for (const bool blocking : {true, false}) {
    const Callers callers(2, blocking);
    devices::check(cudaSetDevice(callers.device(0)));
    const Clock::time_point start = Clock::now();
    const Thrown wrong = thrown([&] {
      // Where the stand-in may still write to, as NCCL might, when the parent does not block.
      std::optional<unit::LeaksAllowed> allowed;
      if (!blocking) allowed.emplace();
      make_nccl_transport(callers[0], Deadline::after(100));
    });
    CHECK(seconds_since(start) > 0.1);
    CHECK(seconds_since(start) < 0.1 + kAtOnce);
    CHECK(expect(wrong, sparsecollTimeout, "not all ranks") == "");
    if (!blocking) continue;
    // The split goes on, and what comes of it here is given back.
    devices::check(cudaSetDevice(callers.device(1)));
    const auto late = make_nccl_transport(callers[1], patience());
    CHECK(late->size() == 2);
    while (nccl_stand_in::communicators() > 3 && seconds_since(start) < 20)
      std::this_thread::sleep_for(milliseconds(1));
    CHECK(nccl_stand_in::communicators() == 3);
  }
}

TEST_CASE("a communicator that is none, or broken already") {
  CHECK(expect(thrown([] { make_nccl_transport(nullptr, patience()); }), sparsecollInvalidArgument,
               "expected a communicator, got NULL") == "");
  const Callers callers(1);
  nccl_stand_in::break_rank(callers[0]);
  CHECK(expect(thrown([&] { make_nccl_transport(callers[0], patience()); }), sparsecollRemoteError,
               ncclGetErrorString(ncclRemoteError)) == "");
}

TEST_CASE("what NCCL notices by itself is told by the next call") {
  for (const bool by_check : {true, false}) {
    const Callers callers(2);
    const Transports transports = make_transports(callers);
    CHECK(on_ranks("broken", transports, [&](StreamTransport& transport) -> std::string {
            Swap swap(transport);
            swap.exchange(patience());
            swap.stream().wait();
            transport.check();
            if (transport.rank() == 1) return "";
            nccl_stand_in::break_rank(last_part_of(callers[0]));
            const Thrown wrong = thrown([&] {
              if (by_check)
                transport.check();
              else
                swap.exchange(patience());
            });
            return expect(wrong, sparsecollRemoteError, "remote");
          }) == "");
  }
  CHECK(nccl_stand_in::leftovers() == "");
}

/// Everything once, alone or in two.
void whole_life(ncclComm_t comm, const Deadline& deadline) {
  // They outlive the transports: to free them is to wait for the streams, which may be stuck.
  const OwnStream stream;
  const DeviceArray<std::byte> out(Payload(9)), in(9);
  const auto transport = make_nccl_transport(comm, deadline);
  const auto part = transport->split(0, 0, deadline);
  std::vector<StreamTransfer> transfers;
  for (int peer = 0; peer < transport->size(); ++peer)
    transfers.push_back({peer, sent(out), filled(in), true, true});
  transport->exchange(transfers, stream, deadline);
  part->exchange(transfers, stream, deadline);
  transport->check();
  part->close(deadline);
  transport->close(deadline);
}

TEST_CASE("any call of NCCL that fails is told, and leaves nothing behind") {
  for (const bool blocking : {true, false}) {
    bool failed = true;
    for (size_t n = 1; failed; ++n) {
      REQUIRE(n < 1000);
      {
        const Callers callers(1, blocking);
        nccl_stand_in::fail_at(n);
        const Thrown wrong = thrown([&] { whole_life(callers[0], patience()); });
        nccl_stand_in::fail_at(0);
        failed = wrong.code != sparsecollSuccess;
        if (failed) CHECK(expect(wrong, sparsecollSystemError, "nccl") == "");
      }
      CHECK(nccl_stand_in::leftovers() == "");
      // Groups are a thread's own: one that was left open would hold up the next.
      const Callers callers(1);
      CHECK(thrown([&] { whole_life(callers[0], patience()); }).text == "");
    }
  }
}

TEST_CASE("when a call fails on one rank, the other one does not wait longer than it wants to") {
  for (size_t n = 1; n < 60; n += 3) {
    const Callers callers(2);
    const std::string verdict = run_threads("two", 2, [&](int r) -> std::string {
      devices::check(cudaSetDevice(callers.device(r)));
      if (r == 0) nccl_stand_in::fail_at(n);
      const Clock::time_point start = Clock::now();
      const Thrown wrong = thrown([&] { whole_life(callers[r], Deadline::after(150)); });
      if (seconds_since(start) > 2 * kAtOnce + 0.15) return text(seconds_since(start), " s");
      return wrong.code == sparsecollSuccess || wrong.code == sparsecollSystemError ||
                     wrong.code == sparsecollTimeout || wrong.code == sparsecollRemoteError
                 ? ""
                 : wrong.text;
    });
    nccl_stand_in::fail_at(0);
    CHECK(verdict == "");
  }
}

}  // namespace
}  // namespace sparsecoll::nccl_tests
