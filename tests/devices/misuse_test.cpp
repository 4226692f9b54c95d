// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Buffers that are not where they should be, and streams that cannot be used.

#include "devices/backends.hpp"
#include "support/catch.hpp"

namespace sparsecoll::devices {
namespace {

constexpr std::size_t kCount = 100;

sparsecollConfig_t config_for(int device) {
  sparsecollConfig_t config = test::default_config();
  config.device = device;
  return config;
}

/// A communicator of one rank, and what it says of calls.
class Alone {
 public:
  explicit Alone(int device = 0) : ranks_(1, config_for(device)) {}

  /// The error that a call's two buffers give, "" for none.
  std::string told(const float* send, float* recv, cudaStream_t stream = nullptr) {
    const auto got = test::settle(sparseAllreduce(send, recv, kCount, 5, sparsecollFloat32,
                                                  sparsecollSum, nullptr, comm(), stream),
                                  comm());
    if (got == sparsecollSuccess) return "";
    return std::to_string(got) + " " + sparsecollGetLastError(comm());
  }
  sparsecollComm_t comm() const { return ranks_.comm(0); }

 private:
  const test::Ranks ranks_;
};

bool has(const std::string& text, const std::string& part) {
  INFO(text << " should have: " << part);
  CHECK(text.find(part) != std::string::npos);
  return text.find(part) != std::string::npos;
}

TEST_CASE("buffers in two backends, streams with host buffers") {
  Alone alone;
  DeviceArray<float> there(kCount);
  std::vector<float> here(kCount);
  const OwnStream stream;
  has(alone.told(here.data(), there.get()),
      "recvbuff: expected the host's memory, where sendbuff is, got memory of device 0");
  has(alone.told(there.get(), here.data(), stream),
      "recvbuff: expected memory of device 0, where sendbuff is, got the host's memory");
  has(alone.told(here.data(), here.data(), stream), "stream: expected NULL with host buffers");
  CHECK(alone.told(there.get(), there.get(), stream) == "");
  CHECK(alone.told(here.data(), here.data()) == "");
}

TEST_CASE("a communicator for the host takes no device memory") {
  Alone alone(SPARSECOLL_DEVICE_HOST);
  DeviceArray<float> there(kCount);
  has(alone.told(there.get(), there.get()),
      "sendbuff: expected the host's memory, the communicator's, got memory of device 0");
}

TEST_CASE("devices that are not there") {
  sparsecollComm_t comm = nullptr;
  for (const int device : {-2, 4711}) {
    const auto config = config_for(device);
    CHECK(sparsecollCommInitAll(&comm, 1, nullptr, &config) == sparsecollInvalidArgument);
    has(sparsecollGetLastError(nullptr), "config.device: expected");
    CHECK(sparsecollCommInitAll(&comm, 1, &device, nullptr) == sparsecollInvalidArgument);
    has(sparsecollGetLastError(nullptr), "devices[0]: expected");
  }
}

TEST_CASE("captured streams are refused, and ranks go on") {
  const test::Ranks ranks(2, test::default_config());
  const std::string verdict = ranks.run("capture", [&](int rank) {
    const sparsecollComm_t comm = ranks.comm(rank);
    const OwnStream stream;
    DeviceArray<float> x(std::vector<float>(kCount, 1.0f));
    cudaGraph_t graph = nullptr;
    if (rank == 1) check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    const auto call = [&] {
      return test::settle(gtopkAllreduce(x.get(), x.get(), kCount, kCount, sparsecollFloat32,
                                         sparsecollSum, nullptr, comm, stream),
                          comm);
    };
    std::string wrong = test::expect("a captured call", call(), sparsecollInvalidUsage, comm);
    if (rank == 1) {
      check(cudaStreamEndCapture(stream, &graph));
      const std::string told = sparsecollGetLastError(comm);
      if (told.find("stream: expected one that is not captured") == std::string::npos)
        wrong += " told: " + told;
    }
    if (wrong.empty()) wrong = test::expect("the next one", call(), sparsecollSuccess, comm);
    // Nor is a captured stream made to wait, which would break the graph.
    if (rank == 1 && wrong.empty()) {
      check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
      wrong = test::expect("StreamWait", sparsecollCommStreamWait(comm, stream),
                           sparsecollInvalidUsage, comm);
      check(cudaStreamEndCapture(stream, &graph));
    }
    if (wrong.empty() && test::queued_run())
      wrong = test::expect("wait", sparsecollCommStreamWait(comm, stream), sparsecollSuccess, comm);
    if (wrong.empty() && x.read(stream) != std::vector<float>(kCount, 2.0f)) wrong = "wrong sum";
    return wrong;
  });
  CHECK(verdict == "");
}

TEST_CASE("counts and vectors in coordinate form that are elsewhere") {
  Alone alone;
  BackendSparse<Gpu, float> there(kCount, 10);
  BackendSparse<Host, float> here(kCount, 10);
  DeviceArray<std::size_t> counts(1);
  const auto told = [&](sparsecollResult_t got) {
    CHECK(test::settle(got, alone.comm()) == sparsecollInvalidArgument);
    return std::string(sparsecollGetLastError(alone.comm()));
  };
  has(told(sparseAllreducev(there.get(), here.get(), 5, sparsecollSum, nullptr, alone.comm(),
                            nullptr)),
      "recv.indices: expected memory of device 0, where send.indices is, got the host's memory");
  BackendSparse<Gpu, float> out(kCount, 10);
  has(told(sparseAlltoall(there.get(), out.get(), counts.get(), nullptr, alone.comm(), nullptr)),
      "recvcounts: expected the host's memory, got memory of device 0");
  std::size_t on_host = 0;
  there.get()->nnzOnDevice = &on_host;
  has(told(sparsecollScatter(there.get(), DeviceArray<float>(kCount).get(), alone.comm(), nullptr)),
      "in.nnzOnDevice: expected memory of device 0, got the host's memory");
  here.get()->nnzOnDevice = counts.get();
  std::vector<float> dense(kCount);
  has(told(sparsecollScatter(here.get(), dense.data(), alone.comm(), nullptr)),
      "in.nnzOnDevice: expected NULL with host memory");
  BackendSparse<Gpu, float> full(kCount, oracle::Sparse<float>{{1, 1.0f}, {2, 2.0f}});
  full.count_on_device(1);  // fewer than there are
  has(told(sparseAllreducev(full.get(), out.get(), 5, sparsecollSum, nullptr, alone.comm(),
                            nullptr)),
      "send.nnzOnDevice: expected at most nnz = 1, got 2");
  BackendSparse<Gpu, float> unsorted(kCount, oracle::Sparse<float>{{2, 1.0f}, {1, 2.0f}});
  has(told(sparseAllreducev(unsorted.get(), out.get(), 5, sparsecollSum, nullptr, alone.comm(),
                            nullptr)),
      "got something else at entry 1");
}

TEST_CASE("residual values are read and written from the host") {
  Alone alone;
  test::Residual<float> residual(alone.comm(), kCount);
  DeviceArray<float> there(kCount);
  CHECK(sparsecollResidualRead(residual.handle(), there.get()) == sparsecollInvalidArgument);
  has(sparsecollGetLastError(alone.comm()), "dst: expected the host's memory");
  CHECK(sparsecollResidualWrite(residual.handle(), there.get()) == sparsecollInvalidArgument);
  has(sparsecollGetLastError(alone.comm()), "src: expected the host's memory");
}

}  // namespace
}  // namespace sparsecoll::devices
