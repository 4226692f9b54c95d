// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Runs collectives while a rank fails as fault_rank.hpp says. The other ranks must get Timeout or
// RemoteError within the deadline and a second, and the same error at once from every later call.
// Residuals must be as before or after the call that failed, and the destroy must end.

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mpi/fault_rank.hpp"
#include "support/compare.hpp"
#include "support/deviations.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace {

using namespace sparsecoll::test;

Mode mode_of(const std::string& verb) {
  if (verb == "allgather") return kAllgather;
  if (verb == "dense") return kDense;
  if (verb == "gtopk") return kGtopk;
  return kOktopk;
}

constexpr std::size_t kLength = std::size_t{1} << 17;
constexpr std::size_t kKept = kLength / 100;

std::vector<float> send_of(int rank) {
  return make_data<float>(Kind::kHeavyTail, kLength, rank, 8, 1);
}

/// Checks that this rank's residual is, bit for bit, that of the oracle after so many calls, or
/// after one more.
std::string check_residual(const Mode& mode, int calls, const std::vector<float>& residual) {
  const auto ranks = static_cast<std::size_t>(size_of(MPI_COMM_WORLD));
  const auto own = static_cast<std::size_t>(rank_in(MPI_COMM_WORLD));
  sparsecoll::oracle::DenseInputs<float> in;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    in.sends.push_back(send_of(static_cast<int>(rank)));
  in.residuals.assign(ranks, std::vector<float>(kLength, 0.0f));
  for (int call = 0; call < calls; ++call)
    in.residuals = expected<float>(mode, in, kKept, sparsecoll::oracle::Op::kSum).residuals;
  const std::string before = difference("residual", residual, in.residuals[own]);
  if (before.empty()) return "";
  const auto next = expected<float>(mode, in, kKept, sparsecoll::oracle::Op::kSum).residuals;
  const std::string after = difference("residual", residual, next[own]);
  return after.empty() ? "" : "neither as before: " + before + "; nor as after: " + after;
}

/// Makes calls until one fails. They are so long that a kill hits the middle of one.
std::string run(sparsecollComm_t comm, const Mode& mode, const Victim& victim,
                const std::string& victims_number, const Waker& waker) {
  const std::vector<float> send = send_of(rank_in(MPI_COMM_WORLD));
  std::vector<float> recv(kLength);
  const Residual<float> residual(comm, kLength);
  const int calls = victim.harmless() ? kWarmUp + 5 : kCallsAtMost;
  for (int call = 0; call < calls; ++call) {
    victim.before_call(call, waker);
    const Stopwatch time;
    const sparsecollResult_t result = call_dense_verb<float>(
        mode.verb, {send.data(), recv.data(), kLength, kKept, sparsecollSum, residual.handle()},
        comm);
    const double took = time.seconds();
    if (const std::string text = time.too_long("a call", kEndsAfter); !text.empty()) return text;
    victim.after_call(call);
    if (result == sparsecollSuccess) continue;
    if (victim.harmless()) return explain(result, comm);
    if (result != sparsecollTimeout && result != sparsecollRemoteError)
      return explain(result, comm);
    if (call < kWarmUp) return "too early: " + explain(result, comm);
    std::printf("call %d: %s after %.3f s; ", call, sparsecollGetErrorString(result), took);
    const std::string message = sparsecollGetLastError(comm);
    if (victim.stays_away() && !victim.is_me() && !has_word(message, victims_number)) {
      return "the missing rank is not named: " + message;
    }
    const std::vector<float> kept = residual.read();
    const auto small_call = [&] {
      std::vector<float> x(10, 1.0f);
      return call_dense_verb<float>(mode.verb, {x.data(), x.data(), x.size(), 2}, comm);
    };
    const std::string poisoned = check_poisoned(comm, small_call, result);
    return poisoned.empty() ? check_residual(mode, call, kept) : poisoned;
  }
  if (!victim.harmless()) return "no call failed";
  return expect("destroy", sparsecollCommDestroy(comm), sparsecollSuccess, nullptr);
}

/// Makes a communicator over MPI, or, with SPARSECOLL_TEST_TRANSPORT=ucx, over UCX.
sparsecollResult_t init(sparsecollComm_t* comm, const sparsecollConfig_t& config) {
  const char* const transport = std::getenv("SPARSECOLL_TEST_TRANSPORT");
  if (!transport || std::strcmp(transport, "ucx") != 0)
    return sparsecollCommInitMpi(comm, MPI_COMM_WORLD, &config);
  const auto gather = [](void*, const void* own, void* all, std::size_t bytes) {
    const auto count = static_cast<int>(bytes);
    return MPI_Allgather(own, count, MPI_BYTE, all, count, MPI_BYTE, MPI_COMM_WORLD);
  };
  return sparsecollCommInitOob(comm, size_of(MPI_COMM_WORLD), rank_in(MPI_COMM_WORLD), gather,
                               nullptr, &config);
}

}  // namespace

int main(int argc, char** argv) {
  return run_rank(argc, argv, [](const FaultCase& fault, const Waker& waker) {
    const Mode mode = mode_of(fault.verb);
    sparsecollConfig_t config = config_of(mode);
    config.timeoutMs = kDeadlineMs;
    sparsecollComm_t comm = nullptr;
    const std::string text = expect("init", init(&comm, config), sparsecollSuccess, nullptr);
    if (!text.empty()) return text;
    return run(comm, mode, Victim(fault), fault.victims_number, waker);
  });
}
