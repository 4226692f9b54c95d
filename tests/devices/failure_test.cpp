// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Every call of CUDA that a verb makes fails once: both ranks come back with an error that they
// should have, no residual is between two states, and everything can be freed. On the machine of
// ../simt, which fails when it is told to.

#include <engine.hpp>

#include "devices/backends.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"

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

/// One rank's calls; what the last one gave. Tensors and residuals are made before.
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

/// Two calls with the n-th call of the runtime failing, of whichever rank. False when nothing
/// failed any more.
bool fails_well(const sparsecollConfig_t& config, Call call, std::size_t n, std::string& verdict) {
  test::Ranks ranks(kRanks, config);
  std::vector<Tensors> tensors;
  for (int r = 0; r < kRanks; ++r)
    tensors.push_back(
        {DeviceArray<float>(test::make_data<float>(test::Kind::kHeavyTail, kCount, r, kRanks, 1)),
         test::Residual<float>(ranks.comm(r), kCount)});
  std::vector<sparsecollResult_t> got(kRanks);
  simt::fail_at(n);
  verdict = ranks.run("failing", [&](int rank) {
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
  bool failed = false;
  for (int r = 0; r < kRanks; ++r) {
    failed |= got[static_cast<std::size_t>(r)] != sparsecollSuccess;
    // Whatever happened, it can be read.
    for (const float value : tensors[static_cast<std::size_t>(r)].residual.read())
      if (!std::isfinite(value)) verdict += " a residual that never was";
    if (ranks.destroy(r) == sparsecollInvalidArgument) verdict += " a handle was lost";
  }
  return failed;
}

TEST_CASE("every call of the runtime may fail") {
  for (const int blocking : {1, 0})
    for (const Call call : {Call{reduce}, Call{in_group}, Call{exchange}, Call{gossip}}) {
      sparsecollConfig_t config = test::default_config();
      config.blocking = blocking;
      config.timeoutMs = 5000;
      std::size_t n = 0, quiet = 0;
      // Which rank makes the n-th call varies, and errors that nobody waits for are not told.
      for (n = 1; quiet < 20; ++n) {
        std::string verdict;
        quiet = fails_well(config, call, n, verdict) ? 0 : quiet + 1;
        CAPTURE(blocking, n);
        CHECK(verdict == "");
        if (n > 5000) break;
      }
      CHECK(n > 100);
      CHECK(n < 5000);
    }
}

}  // namespace
}  // namespace sparsecoll::devices
