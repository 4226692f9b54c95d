// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Every call of NCCL, and every call of CUDA, that communicators make fails once: all ranks come
// back with an error that they should have, and nothing is left over.

#include <atomic>

#include "nccl/api_team.hpp"
#include "support/catch.hpp"
#include "support/push_sum.hpp"

namespace sparsecoll::nccl_tests {
namespace {

constexpr int kTimeout = 150;  // milliseconds

bool known(sparsecollResult_t result) {
  return result == sparsecollUnhandledCudaError || result == sparsecollSystemError ||
         result == sparsecollRemoteError || result == sparsecollTimeout;
}

/// What a rank works with: longer than its communicator, for to free it is to wait for streams.
struct Backend {
  DeviceArray<float> x{std::vector<float>(64, 1)}, y{64}, z{64};
  OwnStream stream;
};

/// A communicator's whole life.
class Life {
 public:
  Life(ncclComm_t user_comms, const Backend& place) : place_(place) {
    const sparsecollConfig_t config = config_with_timeout(kTimeout);
    result = sparsecollCommInitNccl(&comm_, user_comms, &config);
    if (result == sparsecollSuccess) live();
    if (!comm_) return;
    // Everybody is told the same, if the call was made.
    const sparsecollResult_t lasting = async_error_of(comm_);
    agrees = lasting == sparsecollSuccess || lasting == result;
    if (result != sparsecollSuccess) words = sparsecollGetLastError(comm_);
    const sparsecollResult_t end = sparsecollCommDestroy(comm_);
    if (result == sparsecollSuccess) result = end;
    handle_ended = sparsecollCommDestroy(comm_) == sparsecollInvalidArgument;
  }

  sparsecollResult_t result;
  std::string words;
  bool agrees = true, handle_ended = true;

 private:
  bool good(sparsecollResult_t got) {
    result = got;
    return got == sparsecollSuccess;
  }
  void live() {
    sparsecollResidual_t residual = nullptr;
    sparsecollPushSum_t state = nullptr;
    sparsecollComm_t part = nullptr;
    const auto verb = [&](auto function, size_t k) {
      return good(function(place_.x.get(), place_.y.get(), 64, k, sparsecollFloat32, sparsecollSum,
                           residual, comm_, place_.stream));
    };
    const bool done =
        good(sparsecollResidualCreate(&residual, 64, sparsecollFloat32, comm_)) &&
        verb(gtopkAllreduce, 9) && verb(gtopkAllreduce, 9) && verb(sparseAllreduce, 9) &&
        good(group()) &&
        good(sparsecollPushSumCreate(&state, 64, sparsecollFloat32, nullptr, comm_)) &&
        good(pushSumStep(place_.y.get(), nullptr, 64, sparsecollFloat32, state, comm_,
                         place_.stream)) &&
        good(sparsecollPushSumDrain(state, place_.y.get(), nullptr, place_.stream)) &&
        good(sparsecollCommSplit(comm_, 0, 0, &part, nullptr));
    if (part) {
      const auto end = sparsecollCommDestroy(part);
      if (done && !good(end)) return;
    }
    if (done) good(sparsecollCommSynchronize(comm_));
  }

  sparsecollResult_t group() {
    const auto call = [&](auto function, const DeviceArray<float>& to) {
      function(place_.x.get(), to.get(), 64, 5, sparsecollFloat32, sparsecollSum, nullptr, comm_,
               place_.stream);
    };
    if (const auto started = sparsecollGroupStart(comm_)) return started;
    call(gtopkAllreduce, place_.y);
    call(sparseAllreduce, place_.z);
    return sparsecollGroupEnd(comm_);
  }

  const Backend& place_;
  sparsecollComm_t comm_ = nullptr;
};

/// A life with the n-th call failing, of whichever rank. False when nothing failed any more.
bool fails_well(int P, const std::function<void(size_t)>& fail_at, size_t n, std::string& verdict) {
  std::atomic<bool> failed{false};
  {
    const UserComms user_comms(P);
    std::vector<std::unique_ptr<Backend>> places(static_cast<size_t>(P));
    for (int r = 0; r < P; ++r) {
      devices::check(cudaSetDevice(UserComms::device(r)));
      places[static_cast<size_t>(r)] = std::make_unique<Backend>();
    }
    fail_at(n);
    const Clock::time_point start = Clock::now();
    verdict = run_threads("failing", P, [&](int rank) -> std::string {
      devices::check(cudaSetDevice(UserComms::device(rank)));
      const Life life(user_comms[rank], *places[static_cast<size_t>(rank)]);
      if (life.result == sparsecollSuccess) return "";
      failed = true;
      if (!life.agrees) return "GetAsyncError tells something else than " + life.words;
      if (!life.handle_ended) return "a handle was lost";
      return known(life.result) ? "" : text("got ", life.result, " ", life.words);
    });
    fail_at(0);
    // One deadline passes in the call, one in the end of a peer, and interruptions take time.
    if (seconds_since(start) > 2 * kTimeout / 1000.0 + 2) verdict += "that took too long";
  }
  devices::later().free_all();
  verdict += nccl_stand_in::leftovers();
  return failed;
}

/// Every `stride`-th call until none fails any more; how many did.
size_t every_call_fails(int P, const std::function<void(size_t)>& fail_at, size_t stride) {
  size_t told = 0, quiet = 0;
  for (size_t n = 1; quiet < 12 && n < 5000; n += stride) {
    std::string verdict;
    const bool failed = fails_well(P, fail_at, n, verdict);
    quiet = failed ? 0 : quiet + 1;
    told += failed;
    CAPTURE(P, n);
    CHECK(verdict == "");
  }
  CHECK(quiet >= 12);
  return told;
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
