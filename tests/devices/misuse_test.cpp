// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of buffers in the wrong memory and of streams that cannot be used.

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

/// A communicator of one rank.
class OneRank {
 public:
  explicit OneRank(int device = 0) : ranks_(1, config_for(device)) {}

  /// Makes a call with these buffers. Returns its error, or "".
  std::string error_of(const float* send, float* recv, cudaStream_t stream = nullptr) {
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

bool check_contains(const std::string& text, const std::string& part) {
  INFO(text << " should have: " << part);
  CHECK(text.find(part) != std::string::npos);
  return text.find(part) != std::string::npos;
}

TEST_CASE("buffers in different memories, and streams with host buffers, are refused") {
  OneRank rank;
  DeviceArray<float> on_device(kCount);
  std::vector<float> on_host(kCount);
  const OwnStream stream;
  check_contains(rank.error_of(on_host.data(), on_device.get()),
                 "recvbuff: expected the host's memory, where sendbuff is, got memory of device 0");
  check_contains(rank.error_of(on_device.get(), on_host.data(), stream),
                 "recvbuff: expected memory of device 0, where sendbuff is, got the host's memory");
  check_contains(rank.error_of(on_host.data(), on_host.data(), stream),
                 "stream: expected NULL with host buffers");
  CHECK(rank.error_of(on_device.get(), on_device.get(), stream) == "");
  CHECK(rank.error_of(on_host.data(), on_host.data()) == "");
}

TEST_CASE("a communicator for the host accepts no device memory") {
  OneRank rank(SPARSECOLL_DEVICE_HOST);
  DeviceArray<float> on_device(kCount);
  check_contains(
      rank.error_of(on_device.get(), on_device.get()),
      "sendbuff: expected the host's memory, the communicator's, got memory of device 0");
}

TEST_CASE("devices that do not exist are refused") {
  sparsecollComm_t comm = nullptr;
  for (const int device : {-2, 4711}) {
    const auto config = config_for(device);
    CHECK(sparsecollCommInitAll(&comm, 1, nullptr, &config) == sparsecollInvalidArgument);
    check_contains(sparsecollGetLastError(nullptr), "config.device: expected");
    CHECK(sparsecollCommInitAll(&comm, 1, &device, nullptr) == sparsecollInvalidArgument);
    check_contains(sparsecollGetLastError(nullptr), "devices[0]: expected");
  }
}

TEST_CASE("captured streams are refused, and the communicator stays usable") {
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
      const std::string error = sparsecollGetLastError(comm);
      if (error.find("stream: expected one that is not captured") == std::string::npos)
        wrong += " error: " + error;
    }
    if (wrong.empty()) wrong = test::expect("the next one", call(), sparsecollSuccess, comm);
    // StreamWait refuses a captured stream, because waiting would invalidate the graph.
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

TEST_CASE("counts and sparse vectors in the wrong memory are refused") {
  OneRank rank;
  BackendSparse<Gpu, float> on_device(kCount, 10);
  BackendSparse<Host, float> on_host(kCount, 10);
  DeviceArray<std::size_t> counts(1);
  const auto error = [&](sparsecollResult_t got) {
    CHECK(test::settle(got, rank.comm()) == sparsecollInvalidArgument);
    return std::string(sparsecollGetLastError(rank.comm()));
  };
  check_contains(
      error(sparseAllreducev(on_device.get(), on_host.get(), 5, sparsecollSum, nullptr, rank.comm(),
                             nullptr)),
      "recv.indices: expected memory of device 0, where send.indices is, got the host's memory");
  BackendSparse<Gpu, float> out(kCount, 10);
  check_contains(error(sparseAlltoall(on_device.get(), out.get(), counts.get(), nullptr,
                                      rank.comm(), nullptr)),
                 "recvcounts: expected the host's memory, got memory of device 0");
  std::size_t host_count = 0;
  on_device.get()->nnzOnDevice = &host_count;
  check_contains(error(sparsecollScatter(on_device.get(), DeviceArray<float>(kCount).get(),
                                         rank.comm(), nullptr)),
                 "in.nnzOnDevice: expected memory of device 0, got the host's memory");
  on_host.get()->nnzOnDevice = counts.get();
  std::vector<float> dense(kCount);
  check_contains(error(sparsecollScatter(on_host.get(), dense.data(), rank.comm(), nullptr)),
                 "in.nnzOnDevice: expected NULL with host memory");
  BackendSparse<Gpu, float> full(kCount, oracle::Sparse<float>{{1, 1.0f}, {2, 2.0f}});
  full.count_on_device(1);  // fewer than the real number
  check_contains(error(sparseAllreducev(full.get(), out.get(), 5, sparsecollSum, nullptr,
                                        rank.comm(), nullptr)),
                 "send.nnzOnDevice: expected at most nnz = 1, got 2");
  BackendSparse<Gpu, float> unsorted(kCount, oracle::Sparse<float>{{2, 1.0f}, {1, 2.0f}});
  check_contains(error(sparseAllreducev(unsorted.get(), out.get(), 5, sparsecollSum, nullptr,
                                        rank.comm(), nullptr)),
                 "got something else at entry 1");
}

TEST_CASE("residual values are read and written from the host") {
  OneRank rank;
  test::Residual<float> residual(rank.comm(), kCount);
  DeviceArray<float> on_device(kCount);
  CHECK(sparsecollResidualRead(residual.handle(), on_device.get()) == sparsecollInvalidArgument);
  check_contains(sparsecollGetLastError(rank.comm()), "dst: expected the host's memory");
  CHECK(sparsecollResidualWrite(residual.handle(), on_device.get()) == sparsecollInvalidArgument);
  check_contains(sparsecollGetLastError(rank.comm()), "src: expected the host's memory");
}

}  // namespace
}  // namespace sparsecoll::devices
