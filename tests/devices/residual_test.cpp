// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// A residual is in the memory of the buffers of its first call.

#include "devices/backends.hpp"
#include "devices/device_ranks.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/folder.hpp"

namespace sparsecoll::devices {
namespace {

constexpr std::size_t kCount = 500;
constexpr std::size_t kKept = 20;

template <class T, class Backend>
sparsecollResult_t call(Backend, const test::Residual<T>& residual, std::uint64_t seed,
                        sparsecollComm_t comm) {
  const typename Backend::Stream stream;
  typename Backend::template Array<T> x(
      test::make_data<T>(test::Kind::kHeavyTail, kCount, 0, 1, seed));
  const auto result = sparseAllreduce(x.get(), x.get(), kCount, kKept, test::kDatatype<T>,
                                      sparsecollSum, residual.handle(), comm, stream);
  return test::settle(result, comm);
}

/// Returns whether a pointer refers to device memory.
bool on_device(const void* at) {
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, at));
  return attributes.type == cudaMemoryTypeDevice;
}
bool is_on_device(sparsecollResidual_t residual) {
  void* at = nullptr;
  if (sparsecollResidualPointer(residual, &at) != sparsecollSuccess) return false;
  return on_device(at);
}

template <class T>
struct ResidualSteps {
  template <class Backend>
  void operator()(Backend backend, const RankContext& context) const {
    using Wide = oracle::Wide<T>;
    test::Residual<T> residual(context.comm, kCount);
    context.record.add(residual.read());  // zeros
    context.expect(call<T>(backend, residual, 1, context.comm));
    context.record.add(residual.read());
    std::vector<Wide> values = residual.read();
    values[3] = std::numeric_limits<Wide>::quiet_NaN();
    values[7] = Wide{-0.0f};
    residual.write(values);
    context.record.add(residual.read());
    context.expect(sparsecollResidualScale(residual.handle(), 0.5));
    context.expect(call<T>(backend, residual, 2, context.comm));
    context.record.add(residual.read());
    context.expect(sparsecollResidualScale(residual.handle(), 0));
    context.record.add(residual.read());
    if (is_on_device(residual.handle()) != Backend::kDevice)
      throw std::runtime_error("the residual is not where its buffers are");
  }
};

TEST_CASE("a residual has the same values on a device and on the host") {
  const auto config = test::default_config();
  CHECK(compare_backends(config, 1, ResidualSteps<float>{}) == "");
  CHECK(compare_backends(config, 1, ResidualSteps<double>{}) == "");
  CHECK(compare_backends(config, 1, ResidualSteps<oracle::Bfloat16>{}) == "");
}

TEST_CASE("a residual that was written before its first call moves to the device") {
  const DeviceRanks ranks(1, test::default_config());
  test::Residual<float> on_host(ranks.comm(0), kCount), on_gpu(ranks.comm(0), kCount);
  const auto before = test::make_data<float>(test::Kind::kWideIntegers, kCount, 0, 1, 5);
  for (auto* each : {&on_host, &on_gpu}) each->write(before);
  CHECK_FALSE(is_on_device(on_gpu.handle()));
  REQUIRE(call<float>(Host{}, on_host, 1, ranks.comm(0)) == sparsecollSuccess);
  REQUIRE(call<float>(Gpu{}, on_gpu, 1, ranks.comm(0)) == sparsecollSuccess);
  CHECK(is_on_device(on_gpu.handle()));
  CHECK(test::difference("residual", on_gpu.read(), on_host.read()) == "");
  // The residual stays on the device.
  CHECK(call<float>(Host{}, on_gpu, 2, ranks.comm(0)) == sparsecollInvalidArgument);
  const std::string error = sparsecollGetLastError(ranks.comm(0));
  CHECK(error.find("residual: expected one in the host's memory") != std::string::npos);
  CHECK(call<float>(Gpu{}, on_host, 2, ranks.comm(0)) == sparsecollInvalidArgument);
  CHECK(test::difference("residual", on_gpu.read(), on_host.read()) == "");
  CHECK(call<float>(Gpu{}, on_gpu, 2, ranks.comm(0)) == sparsecollSuccess);
}

TEST_CASE("a residual that one backend saved can be loaded for any backend") {
  const test::Folder folder;
  std::vector<std::vector<float>> after;
  const auto run = [&](auto first_backend, auto second_backend) {
    const DeviceRanks ranks(1, test::default_config());
    const std::string path = folder.file(0);
    test::Residual<float> first(ranks.comm(0), kCount), second(ranks.comm(0), kCount);
    REQUIRE(call<float>(first_backend, first, 1, ranks.comm(0)) == sparsecollSuccess);
    REQUIRE(sparsecollResidualSave(first.handle(), path.c_str()) == sparsecollSuccess);
    REQUIRE(sparsecollResidualLoad(second.handle(), path.c_str()) == sparsecollSuccess);
    CHECK(test::difference("loaded", second.read(), first.read()) == "");
    REQUIRE(call<float>(second_backend, second, 2, ranks.comm(0)) == sparsecollSuccess);
    after.push_back(second.read());
    // Loads into a residual that is already on its backend.
    REQUIRE(sparsecollResidualLoad(second.handle(), path.c_str()) == sparsecollSuccess);
    CHECK(test::difference("loaded", second.read(), first.read()) == "");
  };
  run(Host{}, Host{});
  run(Gpu{}, Gpu{});
  run(Host{}, Gpu{});
  run(Gpu{}, Host{});
  for (const auto& each : after) CHECK(test::difference("residual", each, after[0]) == "");
}

}  // namespace
}  // namespace sparsecoll::devices
