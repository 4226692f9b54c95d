// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of stream order: a call runs after earlier work of its stream and before later work.

#include "devices/backends.hpp"
#include "devices/device_ranks.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"

namespace sparsecoll::devices {
namespace {

constexpr std::size_t kCount = 400;

sparsecollConfig_t config_with(int blocking) {
  sparsecollConfig_t config = test::default_config();
  config.blocking = blocking;
  return config;
}

/// The input is still being copied to the device when the call is made, and the output is copied
/// back before the host waits for the stream.
std::string pipeline(int P, int blocking, bool other_streams) {
  const DeviceRanks ranks(P, config_with(blocking));
  std::vector<std::vector<float>> results(static_cast<std::size_t>(P));
  const std::string verdict = ranks.run("pipeline", [&](int rank) {
    const sparsecollComm_t comm = ranks.comm(rank);
    Record ignored;
    const RankContext context{comm, rank, P, ignored};
    const OwnStream first, second;
    DeviceArray<float> x(kCount), out(kCount);
    std::vector<float> host, got(kCount);
    for (std::uint64_t call = 0; call < 4; ++call) {
      const cudaStream_t stream = other_streams && call % 2 ? second : first;
      host = test::make_data<float>(test::Kind::kWideIntegers, kCount, rank, P, call);
      check(cudaMemcpyAsync(x.get(), host.data(), kCount * sizeof(float), cudaMemcpyHostToDevice,
                            stream));
      context.expect(sparseAllreduce(x.get(), out.get(), kCount, 40, sparsecollFloat32,
                                     sparsecollSum, nullptr, comm, stream));
      if (blocking == 0) context.expect(sparsecollCommStreamWait(comm, stream));
      check(cudaMemcpyAsync(got.data(), out.get(), kCount * sizeof(float), cudaMemcpyDeviceToHost,
                            stream));
      check(cudaStreamSynchronize(stream));
      auto& all = results[static_cast<std::size_t>(rank)];
      all.insert(all.end(), got.begin(), got.end());
    }
    return std::string();
  });
  if (!verdict.empty()) return verdict;
  for (std::uint64_t call = 0; call < 4; ++call) {
    oracle::DenseInputs<float> in;
    in.sends = test::make_data_of_all<float>(test::Kind::kWideIntegers, kCount, P, call);
    in.residuals.assign(static_cast<std::size_t>(P), std::vector<float>(kCount));
    const auto want = oracle::Oracle<float>::sparse_allreduce(in, 40, oracle::Op::kSum).result;
    for (const auto& each : results) {
      const auto from = each.begin() + static_cast<std::ptrdiff_t>(call * kCount);
      const std::string wrong =
          test::difference("result", {from, from + static_cast<std::ptrdiff_t>(kCount)}, want);
      if (!wrong.empty()) return "call " + std::to_string(call) + ": " + wrong;
    }
  }
  return "";
}

TEST_CASE("calls run after earlier work and before later work of their stream") {
  for (const int blocking : {1, 0})
    for (const bool other_streams : {false, true}) {
      CAPTURE(blocking, other_streams);
      CHECK(pipeline(3, blocking, other_streams) == "");
    }
}

TEST_CASE("Synchronize and Wait wait for queued calls on a device") {
  const DeviceRanks ranks(2, config_with(0));
  const std::string verdict = ranks.run("queued", [&](int rank) {
    const sparsecollComm_t comm = ranks.comm(rank);
    Record ignored;
    const RankContext context{comm, rank, 2, ignored};
    DeviceArray<float> x(std::vector<float>(kCount, 1.0f)), y(std::vector<float>(kCount, 2.0f));
    for (const auto& each : {&x, &y})
      context.expect(sparseAllreduce(each->get(), each->get(), kCount, kCount, sparsecollFloat32,
                                     sparsecollSum, nullptr, comm, nullptr));
    std::uint64_t last = 0;
    context.expect(sparsecollCommGetSequence(comm, &last));
    context.expect(sparsecollCommWait(comm, last - 1));
    if (x.read() != std::vector<float>(kCount, 2.0f)) return std::string("Wait returned too early");
    context.expect(sparsecollCommSynchronize(comm));
    if (y.read() != std::vector<float>(kCount, 4.0f))
      return std::string("Synchronize returned too early");
    return std::string();
  });
  CHECK(verdict == "");
}

TEST_CASE("a stream may be destroyed after its call") {
  const DeviceRanks ranks(1, test::default_config());
  DeviceArray<float> x(std::vector<float>(kCount, 1.0f));
  for (int call = 0; call < 3; ++call) {
    const OwnStream stream;
    CHECK(sparseAllreduce(x.get(), x.get(), kCount, kCount, sparsecollFloat32, sparsecollSum,
                          nullptr, ranks.comm(0), stream) == sparsecollSuccess);
  }
  CHECK(sparsecollCommSynchronize(ranks.comm(0)) == sparsecollSuccess);
  CHECK(x.read() == std::vector<float>(kCount, 1.0f));
}

}  // namespace
}  // namespace sparsecoll::devices
