// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests ranks over NCCL that make another call than their peers. All ranks know the shapes of both
// calls, so they do not compare descriptors first: the call fails, but no rank waits for ever.
// Other cases have bad configurations and bad buffers.

#include <functional>

#include "nccl/api_team.hpp"
#include "support/catch.hpp"
#include "support/longer_deadlines.hpp"

namespace sparsecoll::nccl_tests {
namespace {

constexpr int kTimeout = 300;  // milliseconds

struct Calls {
  Call usual, odd;
  bool same_size = false;  ///< messages of both have the same size
};

/// Makes both calls on all ranks. Then rank 1 makes the odd call and the others make the usual one.
std::string make_odd_call(int P, const Calls& calls, int deadline_ms) {
  const Team team(P, config_with_timeout(deadline_ms));
  std::vector<sparsecollResult_t> got(static_cast<size_t>(P));
  std::string verdict = team.run("odd call", [&](int rank) {
    const sparsecollComm_t comm = team.comm(rank);
    Tensors tensors(comm);
    for (const Call& each : {calls.usual, calls.odd})
      if (tensors.finish(tensors.make(each)) != sparsecollSuccess)
        return std::string(sparsecollGetLastError(comm));
    tensors.wipe();
    const Clock::time_point start = Clock::now();
    auto& result = got[static_cast<size_t>(rank)];
    result = tensors.finish(tensors.make(rank == 1 ? calls.odd : calls.usual));
    std::string wrong;
    if (seconds_since(start) > deadline_ms / 1000.0 + test::patience()) wrong += "too late; ";
    if (result == sparsecollSuccess) return wrong;
    wrong += async_error_of(comm) == result ? "" : "GetAsyncError differs; ";
    return wrong + result_mismatch(tensors.make(calls.usual), result, comm);
  });
  for (const sparsecollResult_t each : got) {
    const bool expected = each == sparsecollRemoteError || each == sparsecollTimeout;
    // A rank that has received no odd message may succeed.
    if (!expected && (P == 2 || each != sparsecollSuccess))
      verdict += text("got ", name_of(each), "; ");
    if (P == 2 && calls.same_size && each != sparsecollRemoteError)
      verdict += text("got ", name_of(each), " for a message of another call; ");
  }
  if (got[0] == sparsecollSuccess) verdict += "rank 0, to which all others send, has not noticed";
  return verdict;
}

/// Repeats a test with longer deadlines, which also hold for the init of its ranks.
std::string with_deadlines(const std::function<std::string(int ms)>& body) {
  return test::with_longer_deadlines(kTimeout, body);
}

TEST_CASE("another call of a known shape is fatal, and no rank waits for ever") {
  const Call usual;
  Call average = usual, shorter = usual, fewer = usual, wide = usual, sparse = usual, tiny = usual;
  average.op = sparsecollAvg;
  shorter.count = 60;
  fewer.k = 7;
  wide.datatype = sparsecollFloat64;
  sparse.verb = test::Verb::kSparse;
  tiny.count = tiny.k = 0;
  for (const int P : {2, 3}) {
    for (const Calls& each :
         {Calls{usual, average, true}, Calls{usual, shorter}, Calls{usual, fewer},
          Calls{usual, wide}, Calls{usual, sparse}, Calls{sparse, usual}}) {
      CAPTURE(P, each.odd.count, each.odd.k, each.odd.datatype, each.odd.op);
      CHECK(with_deadlines([&](int ms) { return make_odd_call(P, each, ms); }) == "");
    }
    CHECK(with_deadlines([&](int ms) { return make_odd_call(P, {usual, tiny}, ms); }) == "");
  }
}

TEST_CASE("one rank makes a call of a new shape and the other one of a known shape") {
  for (const bool odd_is_new : {false, true}) {
    CHECK(with_deadlines([&](int ms) {
            const Team team(2, config_with_timeout(ms));
            return team.run("new", [&](int rank) {
              const sparsecollComm_t comm = team.comm(rank);
              Tensors tensors(comm);
              std::string wrong =
                  result_mismatch(tensors.finish(tensors.make(Call{})), sparsecollSuccess, comm);
              Call fresh;
              fresh.k = 9;
              const bool is_new = (rank == 1) == odd_is_new;
              const auto got = tensors.finish(tensors.make(is_new ? fresh : Call{}));
              if (got != sparsecollTimeout && got != sparsecollRemoteError)
                wrong += text("got ", name_of(got), "; ");
              return wrong;
            });
          }) == "");
  }
}

/// Makes the call and returns the number of bytes that this rank has sent in it.
size_t bytes_sent(sparsecollComm_t comm, const Tensors& tensors, const Call& call) {
  if (tensors.finish(tensors.make(call)) != sparsecollSuccess)
    throw std::runtime_error(sparsecollGetLastError(comm));
  sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
  sparsecollCommGetStats(comm, sparsecollStatsLast, &stats);
  return stats.bytesSent;
}

TEST_CASE("a message of a known shape is not taken for a descriptor of the same length") {
  CHECK(
      with_deadlines([&](int ms) {
        const Team team(2, config_with_timeout(ms));
        return team.run("same length", [&](int rank) {
          const sparsecollComm_t comm = team.comm(rank);
          const Tensors tensors(comm);
          Call call{test::Verb::kGtopk, Tensors::kRoom};
          const Call fresh{test::Verb::kGtopk, Tensors::kRoom, 1, sparsecollFloat32, sparsecollAvg};
          const size_t first = bytes_sent(comm, tensors, call);
          const size_t descriptors = first - bytes_sent(comm, tensors, call);
          for (call.k = 80; call.k <= call.count; ++call.k) {
            bytes_sent(comm, tensors, call);
            if (bytes_sent(comm, tensors, call) == descriptors) break;
          }
          if (call.k > call.count) return text("no message is ", descriptors, " bytes long");
          const auto got = tensors.finish(tensors.make(rank == 1 ? fresh : call));
          return result_mismatch(got, sparsecollRemoteError, comm, "made another call");
        });
      }) == "");
}

TEST_CASE(
    "a bad argument in a later call is an error of that rank alone, which can repeat the call") {
  for (const test::Verb verb : {test::Verb::kGtopk, test::Verb::kSparse}) {
    const Team team(3);
    CHECK(team.run("bad argument", [&](int rank) {
      const sparsecollComm_t comm = team.comm(rank);
      Tensors tensors(comm);
      Call call;
      call.verb = verb;
      std::string wrong =
          result_mismatch(tensors.finish(tensors.make(call)), sparsecollSuccess, comm);
      const auto residual = tensors.residual.read();
      tensors.wipe();
      if (rank == 1) {
        const auto into = [&](const void* from, void* to) {
          return tensors.make(call, from, to, tensors.residual.handle());
        };
        std::vector<float> host(Tensors::kRoom);
        wrong += result_mismatch(into(tensors.in.get(), tensors.in.get() + 1),
                                 sparsecollInvalidArgument, comm, "recvbuff");
        wrong += result_mismatch(into(nullptr, tensors.out.get()), sparsecollInvalidArgument, comm,
                                 "sendbuff");
        wrong += result_mismatch(into(host.data(), host.data()), sparsecollInvalidArgument, comm,
                                 "sendbuff: expected memory of device 1, that of the NCCL "
                                 "communicator, got the host's memory");
        if (sequence_of(comm) != 1) wrong += "the refused call was counted; ";
        if (!tensors.untouched()) wrong += "the output was touched; ";
        wrong += test::difference("residual", tensors.residual.read(), residual);
      }
      wrong += result_mismatch(tensors.finish(tensors.make(call)), sparsecollSuccess, comm);
      if (sequence_of(comm) != 2) wrong += "the numbers differ; ";
      std::vector<float> want(Tensors::kRoom, Tensors::kUntouched);
      for (size_t i = 0; i < call.count; ++i) want[i] = i >= 8 && i < 16 ? 6.0f : 0.0f;
      return wrong + test::difference("result", tensors.out.read(tensors.stream), want);
    }) == "");
  }
}

TEST_CASE("configurations that differ, or that do not suit NCCL's communicator") {
  const sparsecollConfig_t usual = test::default_config();
  struct Case {
    sparsecollConfig_t odd;
    sparsecollResult_t result;  ///< on rank 1
    const char* message;        ///< on rank 1
    const char* others_message;
  };
  std::vector<Case> cases;
  const auto add = [&](auto member, int value, const Case& expected) {
    cases.push_back(expected);
    cases.back().odd = usual;
    cases.back().odd.*member = value;
  };
  add(&sparsecollConfig_t::residualRule, 1,
      {{},
       sparsecollInvalidUsage,
       "this rank passed 1, rank 0 passed 0",
       "this rank passed 0, rank 1 passed 1"});
  add(&sparsecollConfig_t::device, 0,
      {{},
       sparsecollInvalidArgument,
       "config.device: expected that of the NCCL communicator, 1",
       "rank 1 passed a bad argument: config.device"});
  add(&sparsecollConfig_t::device, SPARSECOLL_DEVICE_HOST,
      {{}, sparsecollInvalidArgument, "config.device", "rank 1 passed a bad argument"});
  add(&sparsecollConfig_t::algorithm, 99,
      {{}, sparsecollInvalidArgument, "config.algorithm", "rank 1 passed a bad argument"});
  const UserComms user_comms(3);
  for (const Case& each : cases)
    CHECK(run_threads("init", 3, [&](int rank) {
            devices::check(cudaSetDevice(UserComms::device(rank)));
            sparsecollComm_t comm = nullptr;
            const auto got =
                sparsecollCommInitNccl(&comm, user_comms[rank], rank == 1 ? &each.odd : &usual);
            std::string wrong = comm ? "there is a communicator; " : "";
            if (rank == 1) return wrong + result_mismatch(got, each.result, nullptr, each.message);
            return wrong +
                   result_mismatch(got, sparsecollInvalidUsage, nullptr, each.others_message);
          }) == "");
  CHECK(nccl_stand_in::communicators_in_the_end(3) == 3);
}

TEST_CASE("an init with a null pointer, and one that names the rank's device") {
  const UserComms user_comms(2);
  CHECK(run_threads("init", 2, [&](int rank) {
          devices::check(cudaSetDevice(0));  // the current device does not matter
          sparsecollComm_t comm = nullptr;
          std::string wrong =
              rank == 1
                  ? result_mismatch(sparsecollCommInitNccl(nullptr, user_comms[rank], nullptr),
                                    sparsecollInvalidArgument, nullptr, "comm: expected a pointer")
                  : result_mismatch(sparsecollCommInitNccl(&comm, user_comms[rank], nullptr),
                                    sparsecollInvalidUsage, nullptr,
                                    "rank 1 passed a bad argument");
          sparsecollConfig_t config = test::default_config();
          config.device = UserComms::device(rank);
          wrong += result_mismatch(sparsecollCommInitNccl(&comm, user_comms[rank], &config),
                                   sparsecollSuccess, nullptr);
          return wrong + destroy_mismatch(sparsecollCommDestroy(comm));
        }) == "");
  sparsecollComm_t comm = nullptr;
  CHECK(result_mismatch(sparsecollCommInitNccl(&comm, nullptr, nullptr), sparsecollInvalidArgument,
                        nullptr, "nccl: expected a communicator, got NULL") == "");
}

TEST_CASE("memory of another device, and the legacy stream") {
  const Team team(1);
  const sparsecollComm_t comm = team.comm(0);
  devices::check(cudaSetDevice(3));
  const DeviceArray<float> elsewhere(Tensors::kRoom);
  devices::check(cudaSetDevice(0));
  const Tensors tensors(comm);
  CHECK(result_mismatch(
            tensors.make(Call{}, elsewhere.get(), elsewhere.get(), nullptr),
            sparsecollInvalidArgument, comm,
            "sendbuff: expected memory of device 0, that of the NCCL communicator, got memory of "
            "device 3") == "");
  CHECK(result_mismatch(tensors.make(Call{}, tensors.in.get(), elsewhere.get(), nullptr),
                        sparsecollInvalidArgument, comm,
                        "recvbuff: expected memory of device 0") == "");
  CHECK(gtopkAllreduce(tensors.in.get(), tensors.out.get(), 9, 9, sparsecollFloat32, sparsecollSum,
                       nullptr, comm, nullptr) == sparsecollSuccess);
  std::vector<float> want(Tensors::kRoom, Tensors::kUntouched);
  std::fill_n(want.begin(), 9, 1.0f);
  CHECK(tensors.out.read(nullptr) == want);  // the copy is on the legacy stream, too
}

}  // namespace
}  // namespace sparsecoll::nccl_tests
