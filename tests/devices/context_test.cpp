// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of the device of a communicator. Programs that use no device must never call CUDA. The
// emulator of ../simt has two devices and records which contexts exist.

#include <engine.hpp>
#include <thread>

#include "devices/backends.hpp"
#include "support/catch.hpp"

namespace sparsecoll::devices {
namespace {

constexpr std::size_t kCount = 64;

std::string error_of(sparsecollComm_t comm, float* x) {
  const auto got = test::settle(
      gtopkAllreduce(x, x, kCount, 3, sparsecollFloat32, sparsecollSum, nullptr, comm, nullptr),
      comm);
  return got == sparsecollSuccess ? "" : sparsecollGetLastError(comm);
}

// This test runs first, because the others create a context.
TEST_CASE("1. host buffers create no context") {
  const test::Ranks ranks(1, test::default_config());
  std::vector<float> x(kCount, 1.0f);
  test::Residual<float> residual(ranks.comm(0), kCount);
  CHECK(error_of(ranks.comm(0), x.data()) == "");
  CHECK(residual.read() == std::vector<float>(kCount));
  CHECK(sparsecollCommStreamWait(ranks.comm(0), nullptr) == sparsecollSuccess);
  CHECK(sparsecollCommSynchronize(ranks.comm(0)) == sparsecollSuccess);
  CHECK_FALSE(simt::context_exists());
}

TEST_CASE("1a. a communicator without a device takes the device of the first buffer") {
  REQUIRE_FALSE(simt::context_exists());
  const test::Ranks ranks(1, test::default_config());  // no device is in use yet
  std::thread([&] {
    check(cudaSetDevice(1));
    DeviceArray<float> one(std::vector<float>(kCount, 1.0f));
    CHECK(error_of(ranks.comm(0), one.get()) == "");
    std::vector<float> on_host(kCount, 1.0f);
    CHECK(error_of(ranks.comm(0), on_host.data()) == "");  // host buffers still work
  }).join();
}

TEST_CASE("1b. queued calls create a context on their device only") {
  REQUIRE_FALSE(simt::context_exists_on(0));
  const auto in_a_thread = [](auto body) { std::thread(body).join(); };
  in_a_thread([] {
    sparsecollConfig_t config = test::default_config();
    config.blocking = 0;
    check(cudaSetDevice(1));
    const test::Ranks ranks(1, config);
    test::Residual<float> residual(ranks.comm(0), kCount);
    const OwnStream stream;
    DeviceArray<float> one(std::vector<float>(kCount, 1.0f));
    for (int call = 0; call < 3; ++call)
      CHECK(sparseAllreduce(one.get(), one.get(), kCount, 5, sparsecollFloat32, sparsecollSum,
                            residual.handle(), ranks.comm(0), stream) == sparsecollSuccess);
    CHECK(sparsecollCommStreamWait(ranks.comm(0), stream) == sparsecollSuccess);
    CHECK(sparsecollCommSynchronize(ranks.comm(0)) == sparsecollSuccess);
    residual.read();
  });
  CHECK(simt::context_exists_on(1));
  CHECK_FALSE(simt::context_exists_on(0));
}

TEST_CASE("2. a communicator accepts memory of its own device only") {
  sparsecollConfig_t config = test::default_config();
  config.device = 1;
  const test::Ranks ranks(1, config);
  check(cudaSetDevice(1));
  DeviceArray<float> one(std::vector<float>(kCount, 1.0f));
  check(cudaSetDevice(0));
  DeviceArray<float> zero(std::vector<float>(kCount, 1.0f));
  CHECK(error_of(ranks.comm(0), one.get()) == "");
  const std::string refused = error_of(ranks.comm(0), zero.get());
  CHECK(refused.find("sendbuff: expected the host's memory or memory of device 1, the "
                     "communicator's, got memory of device 0") != std::string::npos);
  int current = -1;
  check(cudaGetDevice(&current));
  CHECK(current == 0);  // unchanged
}

TEST_CASE("3. if devices are in use, the communicator takes the current one at init") {
  REQUIRE(simt::context_exists());
  check(cudaSetDevice(1));
  const test::Ranks ranks(1, test::default_config());
  DeviceArray<float> one(std::vector<float>(kCount, 1.0f));
  check(cudaSetDevice(0));
  DeviceArray<float> zero(std::vector<float>(kCount, 1.0f));
  CHECK(error_of(ranks.comm(0), zero.get()) != "");
  CHECK(error_of(ranks.comm(0), one.get()) == "");
}

TEST_CASE("4. each rank may have a device of its own") {
  const int devices[] = {0, 1, SPARSECOLL_DEVICE_HOST};
  sparsecollComm_t comms[3] = {};
  REQUIRE(sparsecollCommInitAll(comms, 3, devices, nullptr) == sparsecollSuccess);
  const std::string verdict = test::run_threads("mixed", 3, [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    const std::vector<float> ones(kCount, 1.0f);
    std::vector<float> on_host = ones;
    std::string wrong;
    if (devices[r] == SPARSECOLL_DEVICE_HOST) {
      wrong = error_of(comms[r], on_host.data());
    } else {
      check(cudaSetDevice(devices[r]));
      DeviceArray<float> on_device(ones);
      wrong = error_of(comms[r], on_device.get());
      on_host = on_device.read();
    }
    std::vector<float> want(kCount, 0.0f);
    std::fill_n(want.begin(), 3, 3.0f);
    return wrong.empty() ? test::difference("sum", on_host, want) : wrong;
  });
  CHECK(verdict == "");
  for (const sparsecollComm_t comm : comms) sparsecollCommDestroy(comm);
}

TEST_CASE("5. a steady state allocates nothing on the device") {
  const test::Ranks ranks(2, test::default_config());
  std::vector<DeviceArray<float>> x;
  for (int r = 0; r < 2; ++r) x.emplace_back(std::vector<float>(kCount, 1.0f));
  const auto residuals = test::make_residuals<float>(ranks.comms(), kCount, true);
  const auto calls = [&](int count) {
    return ranks.run("calls", [&](int rank) {
      const auto r = static_cast<std::size_t>(rank);
      sparsecollResult_t got = sparsecollSuccess;
      for (int call = 0; call < count && got == sparsecollSuccess; ++call)
        got = test::settle(
            sparseAllreduce(x[r].get(), x[r].get(), kCount, 5, sparsecollFloat32, sparsecollSum,
                            residuals[r].handle(), ranks.comm(rank), nullptr),
            ranks.comm(rank));
      return test::expect("a call", got, sparsecollSuccess, ranks.comm(rank));
    });
  };
  REQUIRE(calls(3) == "");
  const std::size_t before = simt::allocations();
  REQUIRE(calls(5) == "");
  CHECK(simt::allocations() == before);
}

TEST_CASE("6. a group works on its device and does not change the current device") {
  const int devices[] = {1, 0};
  sparsecollComm_t comms[2] = {};
  REQUIRE(sparsecollCommInitAll(comms, 2, devices, nullptr) == sparsecollSuccess);
  const std::string verdict = test::run_threads("groups", 2, [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    const std::vector<float> ones(kCount, 1.0f);
    check(cudaSetDevice(devices[r]));
    std::vector<DeviceArray<float>> on_device;
    for (int t = 0; t < 3; ++t) on_device.emplace_back(ones);
    const auto residuals =
        test::make_residuals<float>({comms[r], comms[r], comms[r]}, kCount, true);
    std::string wrong;
    for (const int now : {1 - devices[r], devices[r]}) {
      check(cudaSetDevice(now));
      sparsecollGroupStart(comms[r]);
      for (std::size_t t = 0; t < 3; ++t)
        sparseAllreduce(on_device[t].get(), on_device[t].get(), kCount, kCount, sparsecollFloat32,
                        sparsecollSum, residuals[t].handle(), comms[r], nullptr);
      const auto got = test::settle(sparsecollGroupEnd(comms[r]), comms[r]);
      if (got != sparsecollSuccess) wrong += test::explain(got, comms[r]);
      int current = -1;
      check(cudaGetDevice(&current));
      if (current != now) wrong += "; the current device is " + std::to_string(current);
    }
    for (const DeviceArray<float>& each : on_device)
      if (wrong.empty())
        wrong = test::difference("sum", each.read(), std::vector<float>(kCount, 4.0f));
    return wrong;
  });
  CHECK(verdict == "");
  for (const sparsecollComm_t comm : comms) sparsecollCommDestroy(comm);
}

}  // namespace
}  // namespace sparsecoll::devices
