// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Each CUDA call of a verb fails once. Both ranks return a valid error, no residual is in an
// intermediate state, and everything can be freed. The emulator of ../simt injects the failures.

#include <engine.hpp>

#include "devices/backends.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/longer_deadlines.hpp"

namespace sparsecoll::devices {
namespace {

constexpr std::size_t kCount = 200;
constexpr std::size_t kKept = 10;
constexpr int kRanks = 2;

bool known(sparsecollResult_t result) {
  return result == sparsecollSuccess || result == sparsecollUnhandledCudaError ||
         result == sparsecollSystemError || result == sparsecollRemoteError ||
         result == sparsecollInvalidUsage;  // aborted
}

/// The tensors and the residual of one rank, allocated before a call fails.
struct Tensors {
  DeviceArray<float> x;
  test::Residual<float> residual;
  mutable BackendSparse<Gpu, float> top{kCount, oracle::Sparse<float>{{3, 1.0f}, {150, 2.0f}}};
  mutable BackendSparse<Gpu, float> all{kCount, kRanks* kKept};
};

using Call = sparsecollResult_t (*)(const Tensors&, sparsecollComm_t);

sparsecollResult_t reduce(const Tensors& t, sparsecollComm_t comm) {
  return sparseAllreduce(t.x.get(), t.x.get(), kCount, kKept, sparsecollFloat32, sparsecollSum,
                         t.residual.handle(), comm, nullptr);
}

sparsecollResult_t in_group(const Tensors& t, sparsecollComm_t comm) {
  const auto started = sparsecollGroupStart(comm);
  if (started != sparsecollSuccess) return started;
  gtopkAllreduce(t.x.get(), t.x.get(), kCount, kKept, sparsecollFloat32, sparsecollSum,
                 t.residual.handle(), comm, nullptr);
  return sparsecollGroupEnd(comm);
}

sparsecollResult_t exchange(const Tensors& t, sparsecollComm_t comm) {
  return sparseAlltoall(t.top.get(), t.all.get(), nullptr, nullptr, comm, nullptr);
}

sparsecollResult_t gossip(const Tensors& t, sparsecollComm_t comm) {
  sparsecollPushSum_t state = nullptr;
  auto got = sparsecollPushSumCreate(&state, kCount, sparsecollFloat32, nullptr, comm);
  if (got != sparsecollSuccess) return got;
  got = pushSumStep(t.x.get(), nullptr, kCount, sparsecollFloat32, state, comm, nullptr);
  if (got != sparsecollSuccess) {
    sparsecollCommAbort(comm);
    return got;
  }
  return sparsecollPushSumDrain(state, t.x.get(), nullptr, nullptr);
}

/// Makes two calls while the n-th CUDA call of any rank fails. Stores whether a call of the verb
/// failed. Returns what is wrong, or "".
std::string fail_at(std::size_t n, const sparsecollConfig_t& config, Call call, bool& failed) {
  test::Ranks ranks(kRanks, config);
  std::vector<Tensors> tensors;
  for (int r = 0; r < kRanks; ++r)
    tensors.push_back(
        {DeviceArray<float>(test::make_data<float>(test::Kind::kHeavyTail, kCount, r, kRanks, 1)),
         test::Residual<float>(ranks.comm(r), kCount)});
  std::vector<sparsecollResult_t> got(kRanks);
  simt::fail_at(n);
  std::string verdict = ranks.run("failing", [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    for (int repeat = 0; repeat < 2 && got[r] == sparsecollSuccess; ++repeat) {
      got[r] = call(tensors[r], ranks.comm(rank));
      if (config.blocking == 0 && got[r] == sparsecollSuccess)
        got[r] = sparsecollCommSynchronize(ranks.comm(rank));
      if (!known(got[r])) return test::explain(got[r], ranks.comm(rank));
    }
    return std::string();
  });
  simt::fail_at(0);
  failed = false;
  for (int r = 0; r < kRanks; ++r) {
    failed |= got[static_cast<std::size_t>(r)] != sparsecollSuccess;
    // The residual can always be read.
    for (const float value : tensors[static_cast<std::size_t>(r)].residual.read())
      if (!std::isfinite(value)) verdict += "; a residual is not valid";
    if (ranks.destroy(r) == sparsecollInvalidArgument) verdict += "; a handle is not valid";
  }
  return verdict;
}

TEST_CASE("every call of the CUDA runtime may fail") {
  for (const int blocking : {1, 0})
    for (const Call call : {Call{reduce}, Call{in_group}, Call{exchange}, Call{gossip}}) {
      sparsecollConfig_t config = test::default_config();
      config.blocking = blocking;
      std::size_t n = 0, runs_without_failure = 0;
      // Which rank makes the n-th call varies. Some failures are not reported, because no rank
      // waits for them.
      for (n = 1; runs_without_failure < 20; ++n) {
        bool failed = false;
        CAPTURE(blocking, n);
        CHECK(test::with_longer_deadlines(5000, [&](int ms) {
                config.timeoutMs = ms;
                return fail_at(n, config, call, failed);
              }) == "");
        runs_without_failure = failed ? 0 : runs_without_failure + 1;
        if (n > 5000) break;
      }
      CHECK(n > 100);
      CHECK(n < 5000);
    }
}

}  // namespace
}  // namespace sparsecoll::devices
