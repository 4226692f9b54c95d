// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests blocking = 0 and groups over MPI: results have the bits of the definition, with many calls
// in flight.

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "support/compare.hpp"
#include "support/hang_guard.hpp"
#include "support/mpi_verdict.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace {

using namespace sparsecoll::test;
namespace oracle = sparsecoll::oracle;

constexpr std::size_t kTensors = 12;

std::size_t length_of(std::size_t tensor) { return tensor * tensor * 40; }
std::size_t kept_of(std::size_t tensor) { return tensor * 3; }
Verb verb_of(std::size_t tensor) { return tensor % 3 == 2 ? Verb::kGtopk : Verb::kSparse; }

/// Returns the expected sums of all tensors of this round.
std::vector<std::vector<float>> expected_of(std::uint64_t round, int P) {
  std::vector<std::vector<float>> all;
  for (std::size_t t = 0; t < kTensors; ++t) {
    oracle::DenseInputs<float> in;
    in.sends = make_data_of_all<float>(Kind::kHeavyTail, length_of(t), P, 50 * round + t);
    const Mode mode = verb_of(t) == Verb::kGtopk ? kGtopk : kAuto;
    all.push_back(expected(mode, in, kept_of(t), oracle::Op::kSum).result);
  }
  return all;
}

struct Tensors {
  std::vector<std::vector<float>> send, recv;
  Tensors(std::uint64_t round, int rank, int P) {
    for (std::size_t t = 0; t < kTensors; ++t) {
      send.push_back(make_data<float>(Kind::kHeavyTail, length_of(t), rank, P, 50 * round + t));
      recv.emplace_back(length_of(t));
    }
  }
};

/// Starts the calls of all tensors. The caller waits for them.
std::string start_all(Tensors& tensors, sparsecollComm_t comm) {
  for (std::size_t t = 0; t < kTensors; ++t) {
    const auto verb = verb_of(t) == Verb::kGtopk ? gtopkAllreduce : sparseAllreduce;
    const sparsecollResult_t result =
        verb(tensors.send[t].data(), tensors.recv[t].data(), length_of(t), kept_of(t),
             sparsecollFloat32, sparsecollSum, nullptr, comm, nullptr);
    if (result != sparsecollSuccess) return explain(result, comm);
  }
  return "";
}

std::string compare(const Tensors& tensors, std::uint64_t round, int P) {
  const auto want = expected_of(round, P);
  std::string verdict;
  for (std::size_t t = 0; t < kTensors; ++t)
    verdict += difference("tensor " + std::to_string(t), tensors.recv[t], want[t]);
  return verdict;
}

/// Makes rounds of calls, one by one and in groups. All are queued before the first wait.
void check_rounds(Verdict& verdict, bool blocking) {
  const int rank = rank_in(MPI_COMM_WORLD), P = size_of(MPI_COMM_WORLD);
  sparsecollConfig_t config = default_config();
  config.blocking = blocking;
  const MpiCommunicator comm(MPI_COMM_WORLD, config);
  std::vector<Tensors> rounds;
  for (std::uint64_t round = 0; round < 6; ++round) rounds.emplace_back(round, rank, P);
  for (std::size_t round = 0; round < rounds.size(); ++round) {
    const bool group = round % 2;
    if (group) sparsecollGroupStart(comm.get());
    verdict.check("start", start_all(rounds[round], comm.get()));
    if (group) verdict.require("end", sparsecollGroupEnd(comm.get()) == sparsecollSuccess);
  }
  verdict.check("synchronize", expect("synchronize", sparsecollCommSynchronize(comm.get()),
                                      sparsecollSuccess, comm.get()));
  for (std::size_t round = 0; round < rounds.size(); ++round)
    verdict.check("round " + std::to_string(round), compare(rounds[round], round, P));
  std::uint64_t sequence = 0;
  sparsecollCommGetSequence(comm.get(), &sequence);
  verdict.require("a group is one call", sequence == 3 * kTensors + 3);
}

/// Runs all cases of a definition with calls that are queued and waited for.
void check_definition(Verdict& verdict) {
  setenv("SPARSECOLL_TEST_BLOCKING", "0", 1);
  const int P = size_of(MPI_COMM_WORLD);
  for (const Mode& mode : {kAuto, kGtopk}) {
    const MpiCommunicator comm(MPI_COMM_WORLD, default_config());
    for (const Case& c : cases_of(mode, P, 24)) verdict.check("queued", join_case(comm.get(), c));
  }
  unsetenv("SPARSECOLL_TEST_BLOCKING");
}

/// Checks that a queue is refused if MPI's thread level does not allow it.
void check_refusal(Verdict& verdict) {
  sparsecollConfig_t config = default_config();
  config.blocking = 0;
  sparsecollComm_t comm = nullptr;
  verdict.require("refused",
                  sparsecollCommInitMpi(&comm, MPI_COMM_WORLD, &config) == sparsecollInvalidUsage);
  verdict.require("names the level",
                  std::strstr(sparsecollGetLastError(nullptr), "MPI_THREAD_MULTIPLE") != nullptr);
  const MpiCommunicator whole(MPI_COMM_WORLD, default_config());
  verdict.require("a part refused",
                  sparsecollCommSplit(whole.get(), 0, 0, &comm, &config) == sparsecollInvalidUsage);
}

}  // namespace

int main(int argc, char** argv) {
  const bool multiple = argc < 2 || std::strcmp(argv[1], "serialized") != 0;
  int level = 0;
  MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED, &level);
  int code = 0;
  {
    const HangGuard guard("mpi queued", 1);
    Verdict verdict;
    check_rounds(verdict, true);
    if (level == MPI_THREAD_MULTIPLE) {
      check_rounds(verdict, false);
      check_definition(verdict);
    } else {
      check_refusal(verdict);
    }
    code = verdict.report("mpi queued");
  }
  MPI_Finalize();
  return code;
}
