// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Lets every call of NCCL and of CUDA that communicators make fail once. All ranks return with an
// expected error, and nothing is left over.

#include <atomic>
#include <chrono>
#include <functional>

#include "nccl/api_team.hpp"
#include "support/catch.hpp"
#include "support/push_sum.hpp"

namespace sparsecoll::nccl_tests {
namespace {

constexpr int kTimeout = 150;     // milliseconds
constexpr double kPatience = 20;  // seconds for work without waits, on a busy machine

bool is_expected_error(sparsecollResult_t result) {
  return result == sparsecollUnhandledCudaError || result == sparsecollSystemError ||
         result == sparsecollRemoteError || result == sparsecollTimeout;
}

/// Arrays and the stream of a rank. They outlive its communicator, because freeing them waits for
/// streams, which only the end of the communicator may release.
struct Buffers {
  DeviceArray<float> x{std::vector<float>(64, 1)}, y{64}, z{64};
  OwnStream stream;
};

/// Makes a communicator, calls every kind of function, and destroys it.
class Lifetime {
 public:
  Lifetime(ncclComm_t user_comm, const Buffers& buffers) : buffers_(buffers) {
    const sparsecollConfig_t config = config_with_timeout(kTimeout);
    result = sparsecollCommInitNccl(&comm_, user_comm, &config);
    if (result == sparsecollSuccess) use();
    if (!comm_) return;
    // A call that fails before the ranks make it leaves no asynchronous error. The end of a child
    // that fails, as by a deadline on a busy machine, says nothing about the errors of its parent.
    const sparsecollResult_t async_error = async_error_of(comm_);
    agrees = async_error == sparsecollSuccess || async_error == result ||
             (child_failed_ && is_expected_error(async_error));
    if (result != sparsecollSuccess) message = sparsecollGetLastError(comm_);
    const sparsecollResult_t end = sparsecollCommDestroy(comm_);
    if (result == sparsecollSuccess) result = end;
    handle_ended = sparsecollCommDestroy(comm_) == sparsecollInvalidArgument;
  }

  sparsecollResult_t result;
  std::string message;
  bool agrees = true;        ///< the asynchronous error is `result` or none
  bool handle_ended = true;  ///< a second destroy is refused

 private:
  /// Stores the result. Returns true if it is success.
  bool succeeds(sparsecollResult_t got) {
    result = got;
    return got == sparsecollSuccess;
  }
  void use() {
    sparsecollResidual_t residual = nullptr;
    sparsecollPushSum_t state = nullptr;
    sparsecollComm_t child = nullptr;
    const auto verb = [&](auto function, size_t k) {
      return succeeds(function(buffers_.x.get(), buffers_.y.get(), 64, k, sparsecollFloat32,
                               sparsecollSum, residual, comm_, buffers_.stream));
    };
    const bool done =
        succeeds(sparsecollResidualCreate(&residual, 64, sparsecollFloat32, comm_)) &&
        verb(gtopkAllreduce, 9) && verb(gtopkAllreduce, 9) && verb(sparseAllreduce, 9) &&
        succeeds(group()) &&
        succeeds(sparsecollPushSumCreate(&state, 64, sparsecollFloat32, nullptr, comm_)) &&
        succeeds(pushSumStep(buffers_.y.get(), nullptr, 64, sparsecollFloat32, state, comm_,
                             buffers_.stream)) &&
        succeeds(sparsecollPushSumDrain(state, buffers_.y.get(), nullptr, buffers_.stream)) &&
        succeeds(sparsecollCommSplit(comm_, 0, 0, &child, nullptr));
    if (child) {
      const auto end = sparsecollCommDestroy(child);
      child_failed_ = done && !succeeds(end);
      if (child_failed_) return;
    }
    if (done) succeeds(sparsecollCommSynchronize(comm_));
  }

  sparsecollResult_t group() {
    const auto call = [&](auto function, const DeviceArray<float>& to) {
      function(buffers_.x.get(), to.get(), 64, 5, sparsecollFloat32, sparsecollSum, nullptr, comm_,
               buffers_.stream);
    };
    if (const auto started = sparsecollGroupStart(comm_)) return started;
    call(gtopkAllreduce, buffers_.y);
    call(sparseAllreduce, buffers_.z);
    return sparsecollGroupEnd(comm_);
  }

  const Buffers& buffers_;
  sparsecollComm_t comm_ = nullptr;
  bool child_failed_ = false;  ///< `result` is of the child's end
};

/// fail_at() of the stand-in of NCCL, or of the emulator of CUDA.
using FailAt = std::function<size_t(size_t)>;

struct Outcome {
  bool injected;  ///< The ranks have made n calls, and so the n-th has failed.
  bool reported;  ///< A rank has got an error: of the call that failed, or because time was short.
};

/// Runs a lifetime on P ranks, in which the n-th call of any rank fails.
Outcome run_with_failure(int P, const FailAt& fail_at, size_t n, std::string& verdict) {
  std::atomic<bool> reported{false};
  bool injected = false;
  {
    const UserComms user_comms(P);
    std::vector<std::unique_ptr<Buffers>> buffers(static_cast<size_t>(P));
    for (int r = 0; r < P; ++r) {
      devices::check(cudaSetDevice(UserComms::device(r)));
      buffers[static_cast<size_t>(r)] = std::make_unique<Buffers>();
    }
    fail_at(n);
    const Clock::time_point start = Clock::now();
    verdict = run_threads("failing", P, [&](int rank) -> std::string {
      devices::check(cudaSetDevice(UserComms::device(rank)));
      const Lifetime life(user_comms[rank], *buffers[static_cast<size_t>(rank)]);
      if (life.result == sparsecollSuccess) return "";
      reported = true;
      if (!life.agrees) return "GetAsyncError differs from: " + life.message;
      if (!life.handle_ended) return "a handle was lost";
      return is_expected_error(life.result) ? "" : text("got ", life.result, " ", life.message);
    });
    injected = fail_at(0) == 0;
    // One deadline may pass in the call and one in the end of a peer. The rest is work, which a
    // busy machine slows, so that a shorter bound would measure the machine.
    if (seconds_since(start) > 2 * kTimeout / 1000.0 + kPatience) verdict += "the ranks hang";
  }
  devices::deferred_frees().free_all();
  verdict += nccl_stand_in::leftovers();
  return {injected, reported};
}

/// Lets every `stride`-th call fail, each in a run of its own, until there are no more calls.
/// Returns the number of failures that were reported. Ranks whose deadline passes because the
/// machine is busy also report an error, so that errors do not tell whether there are more calls.
size_t every_call_fails(int P, const FailAt& fail_at, size_t stride) {
  size_t failures = 0, runs_without = 0;
  for (size_t n = 1; runs_without < 12 && n < 5000; n += stride) {
    std::string verdict;
    const auto [injected, reported] = run_with_failure(P, fail_at, n, verdict);
    runs_without = injected ? 0 : runs_without + 1;
    failures += injected && reported;
    CAPTURE(P, n);
    CHECK(verdict == "");
  }
  CHECK(runs_without >= 12);
  return failures;
}

TEST_CASE("every call of NCCL may fail") {
  CHECK(every_call_fails(1, nccl_stand_in::fail_at, 1) > 30);
  CHECK(every_call_fails(2, nccl_stand_in::fail_at, 7) > 10);
}

TEST_CASE("every call of CUDA may fail") {
  CHECK(every_call_fails(1, simt::fail_at, test::small_run() ? 7 : 1) > 20);
  CHECK(every_call_fails(2, simt::fail_at, 31) > 5);
}

}  // namespace
}  // namespace sparsecoll::nccl_tests
