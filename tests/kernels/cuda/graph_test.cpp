// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests calls captured into a CUDA graph. After one eager call of the same shape they allocate
// nothing and wait for nothing. Every replay gives the host's bits.

#include "kernels/cuda/select_input.hpp"
#include "support/catch.hpp"

namespace sparsecoll::cuda_test {
namespace {

const size_t kLength = size_t{1} << (test::small_run() ? 13 : 20);
const size_t kKept = kLength / 100;
const int kReplays = test::small_run() ? 10 : 100;

using FloatPlace = DeviceBackend<float, uint32_t, DataType::float32>;

/// A selection, its messages, and the entries of the first message.
struct Chain {
  explicit Chain(Kernels& kernels)
      : kernels(kernels),
        selected(kernels.sparse(kKept)),
        arrived(kernels.sparse(kKept)),
        packets(kernels.packets(kKept, {&all, 1})),
        fault(kernels.counts(1)) {}

  void run(const Gradient& gradient) {
    kernels.accumulate_select(gradient, kKept, selected);
    kernels.pack_all(selected.span(), {&all, 1}, packets);
    const Message message{{packets.slab + kHeadroom, packets.capacity - kHeadroom}, all};
    kernels.unpack_all({&message, 1}, {&arrived, 1}, fault);
  }

  const Region all{0, kLength};
  Kernels& kernels;
  SparseBuffer selected, arrived;
  Packets packets;
  uint64_t* fault;
};

cudaGraphExec_t capture(FloatPlace& device, Chain& chain, const Gradient& gradient) {
  const cudaStream_t stream = device.backend().stream();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  cuda::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "begin of capture");
  chain.run(gradient);
  cuda::check(cudaStreamEndCapture(stream, &graph), "end of capture");
  cuda::check(cudaGraphInstantiate(&ready, graph, 0), "cudaGraphInstantiate");
  cuda::check(cudaGraphDestroy(graph), "cudaGraphDestroy");
  return ready;
}

/// Returns how replays of a graph of the chain differ from the host's result; empty if they do not.
std::string replay(size_t filter_from) {
  const Input<float> input = input_of<float>(test::Kind::kHeavyTail, kLength, 21);
  unit::Backend<float, uint32_t> host;
  FloatPlace device;
  device.backend().tuning().filter_from = filter_from;
  std::vector<float> rest(kLength);
  Chain wanted(host.kernels()), got(device.kernels());
  wanted.run({input.values.data(), kLength, {input.residual.data(), rest.data()}});
  float* const next = device.upload(std::vector<float>(kLength));
  const Gradient gradient{
      device.upload(input.values), kLength, {device.upload(input.residual), next}};
  got.run(gradient);
  const cudaGraphExec_t graph = capture(device, got, gradient);
  std::string differs;
  for (int round = 0; round < kReplays && differs.empty(); ++round) {
    device.kernels().zero(next, kLength);
    cuda::check(cudaGraphLaunch(graph, device.backend().stream()), "cudaGraphLaunch");
    differs = test::difference("arrived", device.get(got.arrived), host.get(wanted.arrived));
    if (differs.empty())
      differs = test::difference("rest", device.download<float>(next, kLength), rest);
  }
  cuda::check(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
  return differs;
}

TEST_CASE("selection and messages can be captured and replayed") {
  CHECK(replay(0) == "");
  CHECK(replay(kLength + 1) == "");
}

}  // namespace
}  // namespace sparsecoll::cuda_test
