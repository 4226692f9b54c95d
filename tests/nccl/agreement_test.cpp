// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests calls over NCCL on which the ranks disagree, or in which one rank passes bad arguments.
// Every rank gets a message about it in the first call of a shape, and with SPARSECOLL_CHECK in
// every call.

#include <cstdlib>

#include "nccl/api_team.hpp"
#include "support/catch.hpp"

namespace sparsecoll::nccl_tests {
namespace {

constexpr int kRanks = 3;
constexpr int kOdd = 1;  // the rank that passes other arguments

/// The message about an argument: "NAME: this rank passed MINE, rank R passed THEIRS".
struct ExpectedMessage {
  const char* name;
  const char* verb;  ///< "passed" or "called"
  std::string usual, odd;

  /// Returns the message that a rank gets.
  std::string at(int rank) const {
    const bool is_odd = rank == kOdd;
    return text(name, ": this rank ", verb, " ", is_odd ? odd : usual, ", rank ", is_odd ? 0 : kOdd,
                " ", verb, " ", is_odd ? usual : odd);
  }
};

/// A call that differs from the usual one in one argument, and the message about it.
struct Difference {
  Call odd;
  ExpectedMessage message;
};

std::vector<Difference> differences(const Call& usual) {
  const auto with = [&](auto member, auto value) {
    Call call = usual;
    call.*member = value;
    return call;
  };
  const std::string k = std::to_string(usual.k), more = std::to_string(usual.k + 1);
  return {
      {with(&Call::verb, test::Verb::kSparse),
       {"function", "called", "gtopkAllreduce", "sparseAllreduce"}},
      {with(&Call::count, usual.count - 1), {"count", "passed", "64", "63"}},
      {with(&Call::k, usual.k + 1), {"k", "passed", k, more}},
      {with(&Call::datatype, sparsecollFloat64),
       {"datatype", "passed", "sparsecollFloat32", "sparsecollFloat64"}},
      {with(&Call::op, sparsecollAvg), {"op", "passed", "sparsecollSum", "sparsecollAvg"}},
  };
}

/// Makes a call on which the ranks disagree, and then one on which they agree.
std::string disagree(const Team& team, Tensors& tensors, int rank, const Difference& difference,
                     const Call& usual) {
  const sparsecollComm_t comm = team.comm(rank);
  tensors.wipe();
  const auto before = tensors.residual.read();
  const std::uint64_t sequence = sequence_of(comm);
  std::string wrong = result_mismatch(tensors.make(rank == kOdd ? difference.odd : usual),
                                      sparsecollInvalidUsage, comm, difference.message.at(rank));
  if (!tensors.untouched()) wrong += "the output was touched; ";
  wrong += test::difference("the residual", tensors.residual.read(), before);
  if (sequence_of(comm) != sequence + 1) wrong += "the call did not count; ";
  if (async_error_of(comm) != sparsecollSuccess) wrong += "the error is fatal; ";
  // The communicator can be used further.
  const Call all{test::Verb::kGtopk, 16, 16};
  wrong += result_mismatch(tensors.finish(tensors.make(all)), sparsecollSuccess, comm);
  std::vector<float> want(Tensors::kRoom, Tensors::kUntouched);
  std::fill_n(want.begin(), 16, float{kRanks});
  wrong += test::difference("the next call", tensors.out.read(tensors.stream), want);
  return wrong;
}

TEST_CASE("ranks disagree in the first call of a shape: messages say how, and the ranks go on") {
  const Team team(kRanks);
  CHECK(team.run("disagree", [&](int rank) {
    Tensors tensors(team.comm(rank));
    tensors.residual.write(std::vector<float>(Call{}.count, 0.5f));
    std::string wrong;
    // The usual shape is new each time, because refused calls leave it unknown.
    for (const Difference& each : differences(Call{}))
      wrong += disagree(team, tensors, rank, each, Call{});
    return wrong;
  }) == "");
}

/// Sets SPARSECOLL_CHECK for the communicators that are made while it lives.
class Checked {
 public:
  Checked() { setenv("SPARSECOLL_CHECK", "1", 1); }
  ~Checked() { unsetenv("SPARSECOLL_CHECK"); }
};

TEST_CASE("with SPARSECOLL_CHECK, messages say how ranks disagree in every call") {
  const Checked checked;
  const Team team(kRanks);
  CHECK(team.run("disagree", [&](int rank) {
    Tensors tensors(team.comm(rank));
    std::string wrong;
    for (const Difference& each : differences(Call{}))
      for (const Call& known : {each.odd, Call{}})
        wrong += result_mismatch(tensors.finish(tensors.make(known)), sparsecollSuccess,
                                 team.comm(rank));
    for (const Difference& each : differences(Call{}))
      wrong += disagree(team, tensors, rank, each, Call{});
    // Bad arguments are reported to all ranks, too.
    const void* const bad = nullptr;
    const auto got =
        tensors.make(Call{}, rank == kOdd ? bad : tensors.in.get(), tensors.out.get(), nullptr);
    return wrong + (rank == kOdd ? result_mismatch(got, sparsecollInvalidArgument, team.comm(rank),
                                                   "sendbuff: expected")
                                 : result_mismatch(got, sparsecollInvalidUsage, team.comm(rank),
                                                   "rank 1 passed a bad argument: sendbuff"));
  }) == "");
}

TEST_CASE("bad arguments of one rank in a first call: all ranks get a message, and go on") {
  const Team team(kRanks);
  const std::pair<const char*, std::function<sparsecollResult_t(const Tensors&, Call)>> cases[] = {
      {"sendbuff",
       [](const Tensors& t, Call call) { return t.make(call, nullptr, t.out.get(), {}); }},
      {"recvbuff",
       [](const Tensors& t, Call call) {
         std::vector<float> host(Tensors::kRoom);
         return t.make(call, t.in.get(), host.data(), nullptr);
       }},
      {"sendbuff: expected memory of device 1",
       [](const Tensors& t, Call call) {
         std::vector<float> host(Tensors::kRoom);
         return t.make(call, host.data(), host.data(), nullptr);
       }},
      {"sendbuff", [](const Tensors& t,
                      Call call) { return t.make(call, t.in.get(), t.in.get() + 1, nullptr); }},
      {"residual: expected count 60, got 64",
       [](const Tensors& t, Call call) {
         return t.make(call, t.in.get(), t.out.get(), t.residual.handle());
       }},
  };
  CHECK(team.run("bad arguments", [&](int rank) {
    const sparsecollComm_t comm = team.comm(rank);
    Tensors tensors(comm);
    std::string wrong;
    Call call{test::Verb::kGtopk, 60, 1};
    for (const auto& each : cases) {
      ++call.k;
      if (rank == kOdd)
        wrong += result_mismatch(each.second(tensors, call), sparsecollInvalidArgument, comm,
                                 each.first);
      else
        wrong += result_mismatch(tensors.make(call), sparsecollInvalidUsage, comm,
                                 text("rank 1 passed a bad argument: "));
      if (!tensors.untouched()) wrong += "the output was touched; ";
    }
    Call all_entries{test::Verb::kSparse, 60, 60};
    wrong += result_mismatch(tensors.finish(tensors.make(all_entries)), sparsecollSuccess, comm);
    if (sequence_of(comm) != std::size(cases) + 1) wrong += "calls did not count; ";
    return wrong;
  }) == "");
}

/// Makes a group of those calls, each with an output of its own.
sparsecollResult_t make_group(const Tensors& tensors, sparsecollComm_t comm,
                              const std::vector<Call>& calls) {
  return test::in_group(comm, [&] {
    size_t at = 0;
    for (const Call& each : calls) {
      tensors.make(each, tensors.in.get(), tensors.out.get() + at, nullptr);
      at += each.count;
    }
  });
}

TEST_CASE("ranks disagree on a group: the message names the call and the argument") {
  const Team team(kRanks);
  const Call first{test::Verb::kGtopk, 10, 3}, second{test::Verb::kSparse, 20, 4},
      other{test::Verb::kSparse, 20, 5};
  CHECK(team.run("groups", [&](int rank) {
    const sparsecollComm_t comm = team.comm(rank);
    const bool odd = rank == kOdd;
    Tensors tensors(comm);
    const ExpectedMessage k{"ranks disagree on call 2 of the group: k", "passed", "4", "5"};
    std::string wrong = result_mismatch(make_group(tensors, comm, {first, odd ? other : second}),
                                        sparsecollInvalidUsage, comm, k.at(rank));
    const std::vector<Call> two{first, second}, three{first, second, second};
    const ExpectedMessage length{"number of calls in the group", "passed", "2", "3"};
    wrong += result_mismatch(make_group(tensors, comm, odd ? three : two), sparsecollInvalidUsage,
                             comm, length.at(rank));
    const ExpectedMessage verb{"function", "called", "sparsecollGroupEnd", "gtopkAllreduce"};
    wrong += result_mismatch(odd ? tensors.make(first) : make_group(tensors, comm, two),
                             sparsecollInvalidUsage, comm, verb.at(rank));
    if (!tensors.untouched()) wrong += "an output was touched; ";
    const std::vector<Call> bad{first, {test::Verb::kGtopk, 20, 4, sparsecollInt32}};
    wrong += result_mismatch(make_group(tensors, comm, odd ? bad : two),
                             odd ? sparsecollInvalidArgument : sparsecollInvalidUsage, comm,
                             "call 2 of the group, gtopkAllreduce: datatype");
    return wrong +
           result_mismatch(tensors.finish(make_group(tensors, comm, two)), sparsecollSuccess, comm);
  }) == "");
}

}  // namespace
}  // namespace sparsecoll::nccl_tests
