// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Residuals live where their first call's buffers are.

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

/// Whether a pointer is of a device.
bool on_device(const void* at) {
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, at));
  return attributes.type == cudaMemoryTypeDevice;
}
bool lives_on_device(sparsecollResidual_t residual) {
  void* at = nullptr;
  if (sparsecollResidualPointer(residual, &at) != sparsecollSuccess) return false;
  return on_device(at);
}

template <class T>
struct Life {
  template <class Backend>
  void operator()(Backend backend, const Scene& scene) const {
    using Wide = oracle::Wide<T>;
    test::Residual<T> residual(scene.comm, kCount);
    scene.record.add(residual.read());  // zeros
    scene.expect(call<T>(backend, residual, 1, scene.comm));
    scene.record.add(residual.read());
    std::vector<Wide> values = residual.read();
    values[3] = std::numeric_limits<Wide>::quiet_NaN();
    values[7] = Wide{-0.0f};
    residual.write(values);
    scene.record.add(residual.read());
    scene.expect(sparsecollResidualScale(residual.handle(), 0.5));
    scene.expect(call<T>(backend, residual, 2, scene.comm));
    scene.record.add(residual.read());
    scene.expect(sparsecollResidualScale(residual.handle(), 0));
    scene.record.add(residual.read());
    if (lives_on_device(residual.handle()) != Backend::kDevice)
      throw std::runtime_error("the residual is not where its buffers are");
  }
};

TEST_CASE("a residual on the device is what it is on the host") {
  const auto config = test::default_config();
  CHECK(compare_backends(config, 1, Life<float>{}) == "");
  CHECK(compare_backends(config, 1, Life<double>{}) == "");
  CHECK(compare_backends(config, 1, Life<oracle::Bfloat16>{}) == "");
}

TEST_CASE("a residual that was written before its first call moves to the device") {
  const DeviceRanks ranks(1, test::default_config());
  test::Residual<float> here(ranks.comm(0), kCount), there(ranks.comm(0), kCount);
  const auto before = test::make_data<float>(test::Kind::kWideIntegers, kCount, 0, 1, 5);
  for (auto* each : {&here, &there}) each->write(before);
  CHECK_FALSE(lives_on_device(there.handle()));
  REQUIRE(call<float>(Host{}, here, 1, ranks.comm(0)) == sparsecollSuccess);
  REQUIRE(call<float>(Gpu{}, there, 1, ranks.comm(0)) == sparsecollSuccess);
  CHECK(lives_on_device(there.handle()));
  CHECK(test::difference("residual", there.read(), here.read()) == "");
  // And stays there.
  CHECK(call<float>(Host{}, there, 2, ranks.comm(0)) == sparsecollInvalidArgument);
  const std::string told = sparsecollGetLastError(ranks.comm(0));
  CHECK(told.find("residual: expected one in the host's memory") != std::string::npos);
  CHECK(call<float>(Gpu{}, here, 2, ranks.comm(0)) == sparsecollInvalidArgument);
  CHECK(test::difference("residual", there.read(), here.read()) == "");
  CHECK(call<float>(Gpu{}, there, 2, ranks.comm(0)) == sparsecollSuccess);
}

TEST_CASE("residuals go through files from backend to backend") {
  const test::Folder folder;
  std::vector<std::vector<float>> after;
  const auto run = [&](auto before_place, auto after_place) {
    const DeviceRanks ranks(1, test::default_config());
    const std::string path = folder.file(0);
    test::Residual<float> first(ranks.comm(0), kCount), second(ranks.comm(0), kCount);
    REQUIRE(call<float>(before_place, first, 1, ranks.comm(0)) == sparsecollSuccess);
    REQUIRE(sparsecollResidualSave(first.handle(), path.c_str()) == sparsecollSuccess);
    REQUIRE(sparsecollResidualLoad(second.handle(), path.c_str()) == sparsecollSuccess);
    CHECK(test::difference("loaded", second.read(), first.read()) == "");
    REQUIRE(call<float>(after_place, second, 2, ranks.comm(0)) == sparsecollSuccess);
    after.push_back(second.read());
    // Into one that lives there already.
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
