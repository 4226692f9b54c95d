// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Communicators that outlive MPI_Finalize: calls, also queued ones, are refused at once, functions
// that need no other rank go on, and CommDestroy is quick, whatever state the communicator is in.

#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "support/folder.hpp"
#include "support/hang_guard.hpp"
#include "support/mpi_verdict.hpp"
#include "support/push_sum.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace {

using namespace sparsecoll::test;

constexpr std::size_t kLength = 50;
constexpr double kQuick = 1;  // seconds

/// A communicator that is not destroyed before MPI_Finalize, with states.
struct Leftover {
  explicit Leftover(int blocking) : queued(!blocking) {
    sparsecollConfig_t config = default_config();
    config.blocking = blocking;
    if (sparsecollCommInitMpi(&comm, MPI_COMM_WORLD, &config) != sparsecollSuccess)
      throw std::runtime_error(sparsecollGetLastError(nullptr));
    const sparsecollPushSumConfig_t graph = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;
    sparsecollResidualCreate(&residual, kLength, sparsecollFloat64, comm);
    sparsecollPushSumCreate(&state, kLength, sparsecollFloat64, &graph, comm);
    std::vector<double> x(kLength, 1);
    sparseAllreduce(x.data(), x.data(), kLength, 5, sparsecollFloat64, sparsecollSum, residual,
                    comm, nullptr);
    if (sparsecollCommSynchronize(comm) != sparsecollSuccess)
      throw std::runtime_error(sparsecollGetLastError(comm));
  }

  bool queued;
  sparsecollComm_t comm = nullptr;
  sparsecollResidual_t residual = nullptr;
  sparsecollPushSum_t state = nullptr;
};

using Results = std::vector<std::pair<const char*, sparsecollResult_t>>;

/// The functions in which the ranks communicate. A queued one tells its error when it is waited
/// for.
Results collective(const Leftover& own) {
  static std::vector<double> x(kLength, 1), y(kLength);
  const sparsecollComm_t comm = own.comm;
  std::vector<std::uint32_t> indices{1, 2};
  std::vector<double> values{1, 2};
  sparsecollSparse_t in = SPARSECOLL_SPARSE_INITIALIZER, out = in;
  in.count = out.count = kLength;
  in.datatype = out.datatype = sparsecollFloat64;
  std::vector<std::uint32_t> found(kLength);
  in.indices = indices.data();
  in.values = values.data();
  in.nnz = in.capacity = 2;
  out.indices = found.data();
  out.values = y.data();
  out.capacity = kLength;
  sparsecollComm_t other = nullptr;
  sparsecollPushSum_t state = nullptr;
  const sparsecollPushSumConfig_t graph = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;
  const auto wait = [&](sparsecollResult_t result) {
    return result == sparsecollSuccess && own.queued ? sparsecollCommSynchronize(comm) : result;
  };
  const auto group = [&] {
    sparsecollGroupStart(comm);
    sparseAllreduce(x.data(), y.data(), kLength, 5, sparsecollFloat64, sparsecollSum, nullptr, comm,
                    nullptr);
    return sparsecollGroupEnd(comm);
  };
  Results results{
      {"sparseAllreduce", wait(sparseAllreduce(x.data(), y.data(), kLength, 5, sparsecollFloat64,
                                               sparsecollSum, own.residual, comm, nullptr))},
      {"gtopkAllreduce", wait(gtopkAllreduce(x.data(), y.data(), kLength, 5, sparsecollFloat64,
                                             sparsecollSum, nullptr, comm, nullptr))},
      {"sparseAllreducev",
       wait(sparseAllreducev(&in, &out, 2, sparsecollSum, nullptr, comm, nullptr))},
      {"gtopkAllreducev",
       wait(gtopkAllreducev(&in, &out, 2, sparsecollSum, nullptr, comm, nullptr))},
      {"sparseReduceScatter",
       wait(sparseReduceScatter(x.data(), &out, kLength, 5, sparsecollFloat64, sparsecollSum,
                                nullptr, nullptr, comm, nullptr))},
      {"sparseAlltoall", wait(sparseAlltoall(&in, &out, nullptr, nullptr, comm, nullptr))},
      {"pushSumStep",
       wait(pushSumStep(x.data(), nullptr, kLength, sparsecollFloat64, own.state, comm, nullptr))},
      {"PushSumDrain", wait(sparsecollPushSumDrain(own.state, x.data(), nullptr, nullptr))},
      {"PushSumCreate", sparsecollPushSumCreate(&state, kLength, sparsecollFloat64, &graph, comm)},
      {"a group", wait(group())},
      {"CommSplit", sparsecollCommSplit(comm, 0, 0, &other, nullptr)},
      {"CommShrink", sparsecollCommShrink(comm, nullptr, 0, &other, nullptr)}};
  int ranks = 0;
  sparsecollCommCount(comm, &ranks);
  if (ranks > 1) results.emplace_back("CommMeasure", sparsecollCommMeasure(comm));
  return results;
}

/// The functions that need no other rank, and leave states as they are.
Results local(const Leftover& own, const std::string& file) {
  std::vector<double> x(kLength, 1);
  std::size_t bytes = 0;
  int number = 0;
  double weight = 0;
  std::uint64_t sequence = 0;
  sparsecollResult_t async = sparsecollSuccess;
  sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
  return {{"CommRank", sparsecollCommRank(own.comm, &number)},
          {"CommCount", sparsecollCommCount(own.comm, &number)},
          {"CommGetSequence", sparsecollCommGetSequence(own.comm, &sequence)},
          {"CommGetAsyncError", sparsecollCommGetAsyncError(own.comm, &async)},
          {"CommGetStats", sparsecollCommGetStats(own.comm, sparsecollStatsTotal, &stats)},
          {"CommDump", sparsecollCommDump(own.comm, (file + ".record").c_str())},
          {"CommSynchronize", sparsecollCommSynchronize(own.comm)},
          {"ResidualRead", sparsecollResidualRead(own.residual, x.data())},
          {"ResidualWrite", sparsecollResidualWrite(own.residual, x.data())},
          {"ResidualScale", sparsecollResidualScale(own.residual, 2)},
          {"ResidualSave", sparsecollResidualSave(own.residual, file.c_str())},
          {"ResidualLoad", sparsecollResidualLoad(own.residual, file.c_str())},
          {"ResidualSaveTo", sparsecollResidualSaveTo(own.residual, nullptr, &bytes)},
          {"PushSumWeight", sparsecollPushSumWeight(own.state, &weight)},
          {"PushSumSave", sparsecollPushSumSave(own.state, file.c_str())},
          {"PushSumLoad", sparsecollPushSumLoad(own.state, file.c_str())},
          {"PushSumSaveTo", sparsecollPushSumSaveTo(own.state, nullptr, &bytes)}};
}

std::string all_give(const Results& results, sparsecollResult_t want, sparsecollComm_t comm) {
  std::string wrong;
  for (const auto& [name, result] : results)
    if (result != want) wrong += std::string(name) + " gave " + explain(result, comm) + "; ";
  return wrong;
}

/// Runs body and complains if it takes long.
template <class Body>
std::string quickly(const char* what, Body body) {
  const auto start = std::chrono::steady_clock::now();
  const std::string wrong = body();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return took.count() < kQuick ? wrong : wrong + what + " took long; ";
}

/// Calls everything on communicators after MPI_Finalize. Returns what is wrong.
std::string after_the_end(const std::vector<Leftover>& used, const Leftover& aborted,
                          const Leftover& poisoned) {
  std::string wrong;
  for (const Leftover& each : used) {
    const Folder folder;
    wrong += quickly("calls",
                     [&] { return all_give(collective(each), sparsecollInvalidUsage, each.comm); });
    if (std::strstr(sparsecollGetLastError(each.comm), "MPI was finalised") == nullptr)
      wrong += std::string("the message is ") + sparsecollGetLastError(each.comm) + "; ";
    wrong += all_give(local(each, folder.file("own")), sparsecollSuccess, each.comm);
    wrong += quickly("CommDestroy", [&] {
      return expect("CommDestroy", sparsecollCommDestroy(each.comm), sparsecollInvalidUsage,
                    each.comm);
    });
  }
  wrong += quickly("an abort", [&] {
    sparsecollCommAbort(aborted.comm);
    sparsecollCommDestroy(aborted.comm);
    sparsecollCommDestroy(poisoned.comm);
    return std::string();
  });
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  const bool multiple = argc > 1 && std::strcmp(argv[1], "multiple") == 0;
  int level = 0;
  MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  const HangGuard guard("mpi finalized", 1);
  std::vector<Leftover> used{Leftover(1)};
  if (level == MPI_THREAD_MULTIPLE) used.emplace_back(0);
  const Leftover aborted(1), poisoned(1);
  sparsecollCommAbort(poisoned.comm);
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Finalize();
  // Ranks can no longer reduce a verdict. The launcher fails if any of them does.
  const std::string wrong = after_the_end(used, aborted, poisoned);
  std::printf("mpi finalized: rank %d: %s\n", rank, wrong.empty() ? "passed" : wrong.c_str());
  std::fflush(stdout);
  return wrong.empty() ? 0 : 1;
}
