// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests properties that only the transport over NCCL has: the user's communicator, groups of NCCL,
// and calls of NCCL that fail. contract_test.cpp tests those that every StreamTransport has.

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "api/sanitizers.hpp"
#include "nccl/stand_in_library.hpp"
#include "nccl/team.hpp"
#include "support/catch.hpp"
#include "support/longer_deadlines.hpp"
#include "transport/stream_contract_steps.hpp"

namespace sparsecoll::nccl_tests {
namespace {

using stream_contract::kAtOnce;
using unit::error_of;
using unit::mismatch;
using unit::ThrownError;

/// Runs body(transport) for each rank, in a thread whose current device is the rank's, with a fresh
/// transport.
template <class Body>
std::string with_transports(const UserComms& user_comms, Body body) {
  return run_threads("transports", user_comms.size(), [&](int rank) -> std::string {
    devices::check(cudaSetDevice(UserComms::device(rank)));
    const auto transport = make_nccl_transport(user_comms[rank], no_deadline());
    body(*transport);
    return "";
  });
}

/// Exchanges three messages with every rank.
void exchange_with_all(StreamTransport& transport) {
  const OwnStream stream;
  const DeviceArray<std::byte> out(std::vector<std::byte>(9)), in(9);
  std::vector<StreamTransfer> transfers;
  for (int i = 0; i < 3 * transport.size(); ++i)
    transfers.push_back({i % transport.size(), stream_contract::sent(out),
                         stream_contract::received(in), true, true});
  transport.exchange(transfers, stream, no_deadline());
  stream.wait();
}

TEST_CASE("an exchange is one group of NCCL") {
  for (const bool blocking : {true, false}) {
    for (int P = 1; P <= 9; ++P) {
      const UserComms user_comms(P, blocking);
      const size_t before = nccl_stand_in::groups_launched();
      CHECK(with_transports(user_comms, [](StreamTransport& transport) {
              exchange_with_all(transport);
              exchange_with_all(transport);
              transport.close(no_deadline());
            }) == "");
      CHECK(nccl_stand_in::groups_launched() - before == 2 * static_cast<size_t>(P));
    }
  }
}

TEST_CASE("a transport leaves the user's communicator as it was") {
  {
    const UserComms user_comms(3);
    for (const bool closes : {false, true, false}) {
      CHECK(with_transports(user_comms, [&](StreamTransport& transport) {
              exchange_with_all(transport);
              if (closes) transport.close(no_deadline());
            }) == "");
      CHECK(nccl_stand_in::communicators_in_the_end(3) == 3);
    }
  }
  CHECK(nccl_stand_in::leftovers() == "");
}

/// Makes the transport of rank 0 alone, and then that of rank 1.
std::string miss_a_rank(bool blocking) {
  const UserComms user_comms(2, blocking);
  devices::check(cudaSetDevice(UserComms::device(0)));
  const Clock::time_point start = Clock::now();
  const ThrownError error = error_of([&] {
    // If the parent is non-blocking, the transport leaks the variable into which NCCL may still
    // write the new communicator.
    std::optional<unit::LeaksAllowed> allowed;
    if (!blocking) allowed.emplace();
    make_nccl_transport(user_comms[0], Deadline::after(100));
  });
  const double seconds = seconds_since(start);
  CHECK(seconds > 0.1);
  CHECK(mismatch(error, sparsecollTimeout, "not all ranks") == "");
  const std::string late = seconds < 0.1 + kAtOnce ? "" : text("late: after ", seconds, " s");
  if (!blocking) return late;
  // The split continues, and rank 0 releases its new communicator. So the other rank misses it.
  devices::check(cudaSetDevice(UserComms::device(1)));
  CHECK(mismatch(error_of([&] { make_nccl_transport(user_comms[1], Deadline::after(100)); }),
                 sparsecollTimeout, "ncclCommSplit: not all ranks") == "");
  CHECK(nccl_stand_in::communicators_in_the_end(2) == 2);
  return late;
}

TEST_CASE(
    "a rank is missing when transports are made: Timeout, and nothing is left when it comes") {
  for (const bool blocking : {true, false})
    CHECK(test::unless_late_by_chance([&] { return miss_a_rank(blocking); }) == "");
}

TEST_CASE("after the deadline the user's communicator is not used, and its user may end it") {
  // The deadline has passed before the thread that splits it is started. That thread may still be
  // the first to run, and then the split is done. The stand-in ends the program if a communicator
  // is used after its end.
  const Deadline deadline = Deadline::after(1);
  while (!deadline.passed()) std::this_thread::yield();
  int timeouts = 0;
  for (int round = 0; round < 500; ++round) {
    const UserComms user_comms(1);
    const ThrownError error = error_of([&] { make_nccl_transport(user_comms[0], deadline); });
    if (error.code == sparsecollSuccess) continue;
    CHECK(mismatch(error, sparsecollTimeout, "within the deadline") == "");
    ++timeouts;
  }
  CHECK(timeouts > 0);
  CHECK(nccl_stand_in::leftovers() == "");
}

/// Ends the user's communicator after the deadline of an init, whose split takes 100 ms longer.
std::string end_after_a_slow_split() {
  struct Split {
    std::atomic<bool> begun{false}, parent_ended{false}, used_after{false}, returned{false};
  };
  const auto split = std::make_shared<Split>();  // the library's thread may outlive this function
  before_splits([split] {
    split->begun = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    const bool alive = !split->parent_ended;
    split->used_after = !alive;
    split->returned = true;
    return alive;
  });
  {
    const UserComms user_comms(1);
    CHECK(mismatch(error_of([&] { make_nccl_transport(user_comms[0], Deadline::after(20)); }),
                   sparsecollTimeout, "within the deadline") == "");
    split->parent_ended = true;
  }
  while (split->begun && !split->returned) std::this_thread::yield();
  before_splits({});
  if (!split->begun) return "the split would have begun late";
  return split->used_after ? "the split returned too late" : nccl_stand_in::leftovers();
}

TEST_CASE("an init waits a little for its split to return, so that the user may end the parent") {
  CHECK(test::unless_late_by_chance(end_after_a_slow_split) == "");
}

TEST_CASE("a transport is made from a communicator that is null or broken") {
  CHECK(mismatch(error_of([] { make_nccl_transport(nullptr, no_deadline()); }),
                 sparsecollInvalidArgument, "expected a communicator, got NULL") == "");
  const UserComms user_comms(1);
  nccl_stand_in::break_rank(user_comms[0]);
  CHECK(mismatch(error_of([&] { make_nccl_transport(user_comms[0], no_deadline()); }),
                 sparsecollRemoteError, ncclGetErrorString(ncclRemoteError)) == "");
}

/// Makes a transport and its child, uses both, and closes them.
void use_once(ncclComm_t comm, const Deadline& deadline) {
  // Stream and arrays outlive the transports, because freeing them waits for streams, which only
  // the end of a transport may release.
  const OwnStream stream;
  const DeviceArray<std::byte> out(std::vector<std::byte>(9)), in(9);
  const auto transport = make_nccl_transport(comm, deadline);
  const auto child = transport->split(0, 0, deadline);
  std::vector<StreamTransfer> transfers;
  for (int peer = 0; peer < transport->size(); ++peer)
    transfers.push_back(
        {peer, stream_contract::sent(out), stream_contract::received(in), true, true});
  transport->exchange(transfers, stream, deadline);
  child->exchange(transfers, stream, deadline);
  transport->check();
  child->close(deadline);
  transport->close(deadline);
}

TEST_CASE("every call of NCCL may fail: SystemError, and nothing is left behind") {
  for (const bool blocking : {true, false}) {
    bool failed = true;
    for (size_t n = 1; failed; ++n) {
      REQUIRE(n < 1000);
      {
        const UserComms user_comms(1, blocking);
        nccl_stand_in::fail_at(n);
        const ThrownError error = error_of([&] { use_once(user_comms[0], no_deadline()); });
        nccl_stand_in::fail_at(0);
        failed = error.code != sparsecollSuccess;
        if (failed) CHECK(mismatch(error, sparsecollSystemError, "nccl") == "");
      }
      CHECK(nccl_stand_in::leftovers() == "");
      // A group that was left open in this thread would hold up the calls of the next transport.
      const UserComms user_comms(1);
      CHECK(error_of([&] { use_once(user_comms[0], no_deadline()); }).message == "");
    }
  }
}

/// Lets the n-th call of NCCL fail on one of two ranks.
std::string fail_on_one_rank(size_t n) {
  const UserComms user_comms(2);
  const std::string verdict = run_threads("two ranks", 2, [&](int rank) -> std::string {
    devices::check(cudaSetDevice(UserComms::device(rank)));
    if (rank == 0) nccl_stand_in::fail_at(n);
    const Clock::time_point start = Clock::now();
    const ThrownError error = error_of([&] { use_once(user_comms[rank], Deadline::after(150)); });
    const double seconds = seconds_since(start);
    if (seconds > 2 * kAtOnce + 0.15) return text("late: after ", seconds, " s");
    return error.code == sparsecollSuccess || error.code == sparsecollSystemError ||
                   error.code == sparsecollTimeout || error.code == sparsecollRemoteError
               ? ""
               : error.message;
  });
  nccl_stand_in::fail_at(0);
  return verdict;
}

TEST_CASE("a call of NCCL fails on one rank: the other rank waits until its deadline at most") {
  for (size_t n = 1; n < 60; n += 3)
    CHECK(test::unless_late_by_chance([n] { return fail_on_one_rank(n); }) == "");
}

}  // namespace
}  // namespace sparsecoll::nccl_tests
