// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests communicators over MPI as objects: they are made from all sorts of MPI communicators,
// refused if ranks disagree, and do not disturb the caller's own messages.

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "support/deviations.hpp"
#include "support/folder.hpp"
#include "support/hang_guard.hpp"
#include "support/mpi_verdict.hpp"
#include "support/sweep.hpp"
#include "support/variable.hpp"

namespace {

using namespace sparsecoll::test;

std::string good_call(sparsecollComm_t comm, const Mode& mode = kAuto) {
  return join_case(comm, Case{3, mode, 500, 20, Kind::kHeavyTail});
}

void check_queries(Verdict& verdict) {
  const MpiCommunicator comm(MPI_COMM_WORLD, default_config());
  int rank = -1;
  int P = -1;
  std::uint64_t sequence = 99;
  verdict.require("rank", sparsecollCommRank(comm.get(), &rank) == sparsecollSuccess &&
                              rank == rank_in(MPI_COMM_WORLD));
  verdict.require("count", sparsecollCommCount(comm.get(), &P) == sparsecollSuccess &&
                               P == size_of(MPI_COMM_WORLD));
  verdict.check("a call", good_call(comm.get()));
  verdict.require(
      "sequence",
      sparsecollCommGetSequence(comm.get(), &sequence) == sparsecollSuccess && sequence == 1);
}

void check_refusals(Verdict& verdict) {
  sparsecollComm_t comm = nullptr;
  verdict.require("MPI_COMM_NULL", sparsecollCommInitMpi(&comm, MPI_COMM_NULL, nullptr) ==
                                       sparsecollInvalidArgument);
  verdict.require("its message", std::strlen(sparsecollGetLastError(nullptr)) > 0);
  verdict.require("no output", sparsecollCommInitMpi(nullptr, MPI_COMM_WORLD, nullptr) ==
                                   sparsecollInvalidArgument);
  sparsecollConfig_t config = default_config();
  config.algorithm = 99;
  verdict.require(
      "a bad config everywhere",
      sparsecollCommInitMpi(&comm, MPI_COMM_WORLD, &config) == sparsecollInvalidArgument);
  const int P = size_of(MPI_COMM_WORLD);
  if (P == 1) return;
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm inter = MPI_COMM_NULL;
  const int color = rank_in(MPI_COMM_WORLD) % 2;
  MPI_Comm_split(MPI_COMM_WORLD, color, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - color, 5, &inter);
  verdict.require("an intercommunicator",
                  sparsecollCommInitMpi(&comm, inter, nullptr) == sparsecollInvalidArgument);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

struct Difference {
  const char* variable;
  const char* other_name;
  void (*make)(sparsecollConfig_t&);
  bool bad;  ///< an invalid configuration, not only a different one
};

const Difference kDifferences[] = {
    {"algorithm", "SPARSECOLL_ALGO",
     [](sparsecollConfig_t& c) { c.algorithm = sparsecollAlgoOktopk; }, false},
    {"residualRule", "residualRule",
     [](sparsecollConfig_t& c) { c.residualRule = sparsecollResidualPaper; }, false},
    {"timeoutMs", "SPARSECOLL_TIMEOUT_MS", [](sparsecollConfig_t& c) { c.timeoutMs = 30000; },
     false},
    {"repartitionInterval", "repartitionInterval",
     [](sparsecollConfig_t& c) { c.repartitionInterval = 3; }, false},
    {"thresholdInterval", "thresholdInterval",
     [](sparsecollConfig_t& c) { c.thresholdInterval = 3; }, false},
    {"allowReordered", "allowReordered", [](sparsecollConfig_t& c) { c.allowReordered = 1; },
     false},
    {"algorithm", "SPARSECOLL_ALGO",
     [](sparsecollConfig_t&) { setenv("SPARSECOLL_ALGO", "oktopk", 1); }, false},
    {"timeoutMs", "SPARSECOLL_TIMEOUT_MS",
     [](sparsecollConfig_t&) { setenv("SPARSECOLL_TIMEOUT_MS", "31000", 1); }, false},
    {"nonFinite", "SPARSECOLL_NON_FINITE",
     [](sparsecollConfig_t& c) { c.nonFinite = sparsecollNonFiniteSkip; }, false},
    {"denseBelow", "SPARSECOLL_DENSE_BELOW", [](sparsecollConfig_t& c) { c.denseBelow = 5; },
     false},
    {"topology", "SPARSECOLL_TOPOLOGY",
     [](sparsecollConfig_t&) {
       static const Folder folder;
       const std::string file = folder.file("other_tree.json");
       std::ofstream(file) << R"({"levels": [{"groups": [{"ranks": "0-99"}]}]})";
       setenv("SPARSECOLL_TOPOLOGY", file.c_str(), 1);
     },
     false},
    {"topology", "SPARSECOLL_TOPOLOGY",
     [](sparsecollConfig_t&) { setenv("SPARSECOLL_TOPOLOGY", "no_such_file.json", 1); }, true},
    {"algorithm", "SPARSECOLL_ALGO", [](sparsecollConfig_t& c) { c.algorithm = 99; }, true},
    {"blocking", "blocking", [](sparsecollConfig_t& c) { c.blocking = 2; }, true},
    {"magic", "magic", [](sparsecollConfig_t& c) { c.magic = 1; }, true},
    {"algorithm", "SPARSECOLL_ALGO",
     [](sparsecollConfig_t&) { setenv("SPARSECOLL_ALGO", "fastest", 1); }, true},
};

std::string init_differently(const Difference& difference, int odd) {
  const int rank = rank_in(MPI_COMM_WORLD);
  sparsecollConfig_t config = default_config();
  if (rank == odd) difference.make(config);
  MPI_Barrier(MPI_COMM_WORLD);
  const auto start = std::chrono::steady_clock::now();
  sparsecollComm_t comm = nullptr;
  const sparsecollResult_t result = sparsecollCommInitMpi(&comm, MPI_COMM_WORLD, &config);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const std::string message = sparsecollGetLastError(nullptr);
  unsetenv("SPARSECOLL_ALGO");
  unsetenv("SPARSECOLL_TOPOLOGY");
  unsetenv("SPARSECOLL_TIMEOUT_MS");
  const std::string got = std::string(sparsecollGetErrorString(result)) + " [" + message + "]";
  const bool is_bad = difference.bad && rank == odd;
  if (result != (is_bad ? sparsecollInvalidArgument : sparsecollInvalidUsage)) return got;
  if (took.count() > patience())
    return "late: the error took " + std::to_string(took.count()) + " s";
  if (rank != odd && !has_word(message, "rank " + std::to_string(odd))) {
    return "the rank is not named: " + got;
  }
  if (difference.bad && rank != odd) return "";
  if (!has_word(message, difference.variable) && !has_word(message, difference.other_name)) {
    return "the variable is not named: " + got;
  }
  const bool of_algorithms = !difference.bad && std::string(difference.variable) == "algorithm";
  if (of_algorithms && message.find("2 (oktopk)") == std::string::npos) {
    return "the algorithm is not named: " + got;
  }
  return "";
}

/// torchrun starts processes of which MPI knows nothing: each has an MPI_COMM_WORLD of its own.
void check_lone_rank(Verdict& verdict) {
  if (size_of(MPI_COMM_WORLD) > 1) return;
  const Folder folder;
  const std::string file = folder.file("log");
  const Variable world("WORLD_SIZE", "4"), log("SPARSECOLL_DEBUG", "WARN"),
      log_file("SPARSECOLL_DEBUG_FILE", file);
  sparsecollConfig_t config = default_config();
  { const MpiCommunicator comm(MPI_COMM_WORLD, config); }
  verdict.require("a warning", lines_with(file, "WORLD_SIZE is 4") == 1);
  config.expectedRanks = 1;
  { const MpiCommunicator comm(MPI_COMM_WORLD, config); }
  verdict.require("no warning for one rank that is expected",
                  lines_with(file, "WORLD_SIZE is 4") == 1);
  config.expectedRanks = 4;
  sparsecollComm_t comm = nullptr;
  verdict.require("one rank of four",
                  sparsecollCommInitMpi(&comm, MPI_COMM_WORLD, &config) == sparsecollInvalidUsage);
  verdict.require("its message", has_word(sparsecollGetLastError(nullptr), "WORLD_SIZE"));
}

/// A split of a communicator that expects its number of ranks has fewer.
void check_expected_ranks(Verdict& verdict) {
  const int rank = rank_in(MPI_COMM_WORLD), P = size_of(MPI_COMM_WORLD);
  sparsecollConfig_t config = default_config();
  config.expectedRanks = P;
  sparsecollComm_t part = nullptr;
  {
    const MpiCommunicator whole(MPI_COMM_WORLD, config);
    verdict.require("a split", sparsecollCommSplit(whole.get(), rank % 2, 0, &part, nullptr) ==
                                   sparsecollSuccess);
    verdict.check("the whole", good_call(whole.get()));
  }
  verdict.check("a call in the part", good_call(part));
  verdict.require("destroy", sparsecollCommDestroy(part) == sparsecollSuccess);
  config.expectedRanks = P + 1;
  sparsecollComm_t comm = nullptr;
  verdict.require("a rank too few",
                  sparsecollCommInitMpi(&comm, MPI_COMM_WORLD, &config) == sparsecollInvalidUsage);
  verdict.require("its message", has_word(sparsecollGetLastError(nullptr), "expectedRanks"));
}

void check_differences(Verdict& verdict) {
  const int P = size_of(MPI_COMM_WORLD);
  if (P == 1) return;
  int number = 0;
  for (const Difference& difference : kDifferences) {
    const int odd = ++number % P;
    verdict.check(std::string("rank ") + std::to_string(odd) + " differs in " + difference.variable,
                  unless_a_rank_is_late([&] { return init_differently(difference, odd); }));
    if (verdict.any_failed()) return;
    const MpiCommunicator comm(MPI_COMM_WORLD, default_config());
    verdict.check("the next init", good_call(comm.get()));
  }
  sparsecollConfig_t config = default_config();
  if (rank_in(MPI_COMM_WORLD) == 1) config.device = SPARSECOLL_DEVICE_HOST;
  const MpiCommunicator comm(MPI_COMM_WORLD, config);
  verdict.check("devices may differ", good_call(comm.get()));
}

void check_several_at_once(Verdict& verdict) {
  const MpiCommunicator one(MPI_COMM_WORLD, config_of(kAllgather));
  const MpiCommunicator two(MPI_COMM_WORLD, config_of(kOktopk));
  const MpiCommunicator self(MPI_COMM_SELF, config_of(kGtopk));
  for (int call = 0; call < 20; ++call) {
    verdict.check("the first of three", good_call(one.get(), kAllgather));
    verdict.check("the second of three", good_call(two.get(), kOktopk));
    verdict.check("one rank alone", good_call(self.get(), kGtopk));
  }
}

void check_parts(Verdict& verdict) {
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part);  // in reverse order
  const MpiCommunicator comm(part, config_of(kOktopk));
  int inner = -1;
  sparsecollCommRank(comm.get(), &inner);
  verdict.require("rank within a part", inner == rank_in(part));
  MPI_Comm_free(&part);  // the library has its own duplicate
  for (int call = 0; call < 5; ++call) {
    verdict.check("a part", good_call(comm.get(), kOktopk));
    verdict.check("a part", good_call(comm.get(), kGtopk));
  }
}

void check_many_times(Verdict& verdict) {
  for (int round = 0; round < 100; ++round) {
    MpiCommunicator comm(MPI_COMM_WORLD, default_config());
    if (round % 20 == 0) verdict.check("made again", good_call(comm.get()));
    const sparsecollComm_t handle = comm.get();
    verdict.require("destroyed", comm.destroy() == sparsecollSuccess);
    verdict.require("twice", sparsecollCommDestroy(handle) == sparsecollInvalidArgument);
  }
}

/// A receive of the caller that accepts any message gets none of the library's.
void check_own_messages(Verdict& verdict) {
  const int rank = rank_in(MPI_COMM_WORLD);
  const int P = size_of(MPI_COMM_WORLD);
  int got = -1;
  MPI_Request request;
  MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
  {
    const MpiCommunicator comm(MPI_COMM_WORLD, default_config());
    for (const Mode& mode : {kAuto, kGtopk}) verdict.check("a call", good_call(comm.get(), mode));
  }
  int done = 1;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  verdict.require("the library's messages are its own", done == 0);
  MPI_Barrier(MPI_COMM_WORLD);  // no message may arrive before all ranks have looked
  MPI_Send(&rank, 1, MPI_INT, (rank + 1) % P, 9, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  verdict.require("the caller's message", got == (rank + P - 1) % P);
  MPI_Errhandler handler;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
  verdict.require("the caller's error handler", handler == MPI_ERRORS_ARE_FATAL);
}

/// Splits odd and even ranks, in reverse order. The children outlive the parent.
void check_split(Verdict& verdict) {
  const int rank = rank_in(MPI_COMM_WORLD), P = size_of(MPI_COMM_WORLD);
  sparsecollComm_t part = nullptr, none = nullptr;
  {
    const MpiCommunicator whole(MPI_COMM_WORLD, default_config());
    verdict.require("split", sparsecollCommSplit(whole.get(), rank % 2, -rank, &part, nullptr) ==
                                 sparsecollSuccess);
    verdict.require("no color", sparsecollCommSplit(whole.get(), SPARSECOLL_SPLIT_NOCOLOR, 0, &none,
                                                    nullptr) == sparsecollSuccess);
    verdict.require("no communicator without a color", none == nullptr);
    const int color = rank == P - 1 ? -2 : 0;
    const sparsecollResult_t want =
        rank == P - 1 ? sparsecollInvalidArgument : sparsecollInvalidUsage;
    verdict.require("a bad color",
                    sparsecollCommSplit(whole.get(), color, 0, &none, nullptr) == want);
    verdict.check("the whole goes on", good_call(whole.get(), kAuto));
  }
  int new_rank = -1, members = 0;
  sparsecollCommRank(part, &new_rank);
  sparsecollCommCount(part, &members);
  const int expected = (P - rank % 2 + 1) / 2;
  verdict.require("members", members == expected);
  verdict.require("order", new_rank == members - 1 - rank / 2);
  verdict.check("a call in the part", good_call(part, kGtopk));
  verdict.require("destroy", sparsecollCommDestroy(part) == sparsecollSuccess);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int code = 0;
  {
    const HangGuard guard("mpi communicators", 1);
    Verdict verdict;
    for (const auto check :
         {check_queries, check_refusals, check_differences, check_lone_rank, check_expected_ranks,
          check_several_at_once, check_parts, check_many_times, check_own_messages, check_split}) {
      check(verdict);
      if (verdict.any_failed()) break;
    }
    code = verdict.report("mpi communicators");
  }
  MPI_Finalize();
  return code;
}
