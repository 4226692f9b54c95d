// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Sparse sums of gradients on GPUs. Every rank is a thread with a device, a stream and buffers on
// the device; ranks may share a device. The program runs twice. With blocking = 1 a call returns
// when its messages are sent and received and its last kernels are queued on the stream; with
// blocking = 0 it returns at once. At the end the host checks that nothing is lost: the delivered
// sums and the residuals together are the sum of all inputs.
#include <cuda_runtime.h>
#include <sparsecoll/sparsecoll.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

namespace {

constexpr int P = 4, n = 1 << 18, k = n / 100, steps = 10;

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(EXIT_FAILURE);  // ends all threads, because the others would wait for this one
}

void check(sparsecollResult_t result, sparsecollComm_t comm) {
  if (result == sparsecollSuccess) return;
  std::fprintf(stderr, "%s: %s\n", sparsecollGetErrorString(result), sparsecollGetLastError(comm));
  std::exit(EXIT_FAILURE);
}

// Stands for your computation. It makes integers, so that sums are exact in any order.
__global__ void compute_gradient(float* gradient, float* input, unsigned seed) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  unsigned bits = (static_cast<unsigned>(i) + seed * n) * 2654435761u;
  bits = (bits ^ (bits >> 15)) * 2246822519u;
  gradient[i] = static_cast<float>(bits >> 24) - 128.0f;
  input[i] += gradient[i];
}

__global__ void apply(const float* sum, float* delivered) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) delivered[i] += sum[i];
}

float* zeros() {
  float* at = nullptr;
  check(cudaMalloc(&at, n * sizeof *at));
  check(cudaMemset(at, 0, n * sizeof *at));
  return at;
}

std::vector<float> to_host(float* at) {
  std::vector<float> values(n);
  check(cudaMemcpy(values.data(), at, n * sizeof *at, cudaMemcpyDeviceToHost));
  check(cudaFree(at));
  return values;
}

// One rank's sums over all steps, and its residual at the end.
struct Totals {
  std::vector<float> input, delivered, residual;
};

void run_rank(int rank, int device, int blocking, sparsecollComm_t comm, Totals& totals) {
  constexpr int threads = 256, blocks = (n + threads - 1) / threads;
  check(cudaSetDevice(device));
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream));
  float *const gradient = zeros(), *const sum = zeros();
  float *const input = zeros(), *const delivered = zeros();
  sparsecollResidual_t residual = nullptr;  // in the memory of the buffers of its first call
  check(sparsecollResidualCreate(&residual, n, sparsecollFloat32, comm), comm);
  for (int step = 0; step < steps; ++step) {
    const auto seed = static_cast<unsigned>(step * P + rank);
    compute_gradient<<<blocks, threads, 0, stream>>>(gradient, input, seed);
    check(cudaGetLastError());
    // The call follows the kernel, which is on the same stream.
    check(sparseAllreduce(gradient, sum, n, k, sparsecollFloat32, sparsecollSum, residual, comm,
                          stream),
          comm);
    // With blocking = 0 the call is only queued. Make later work on the stream wait for it; the
    // host does not wait.
    if (blocking == 0) check(sparsecollCommStreamWait(comm, stream), comm);
    apply<<<blocks, threads, 0, stream>>>(sum, delivered);
    check(cudaGetLastError());
  }
  check(sparsecollCommSynchronize(comm), comm);  // waits, and returns an error of a queued call
  check(cudaStreamSynchronize(stream));
  totals.residual.resize(n);
  check(sparsecollResidualRead(residual, totals.residual.data()), comm);
  totals.input = to_host(input);
  totals.delivered = to_host(delivered);
  check(cudaFree(gradient));
  check(cudaFree(sum));
  check(cudaStreamDestroy(stream));
}

// Returns the number of entries that differ between ranks or from the sum of all inputs.
int count_wrong(const std::vector<Totals>& all_totals) {
  int wrong = 0;
  for (std::size_t i = 0; i < n; ++i) {
    float input_sum = 0, residual_sum = 0;
    bool same = true;
    for (const Totals& totals : all_totals) {
      input_sum += totals.input[i];
      residual_sum += totals.residual[i];
      same = same && totals.delivered[i] == all_totals[0].delivered[i];
    }
    if (!same || all_totals[0].delivered[i] + residual_sum != input_sum) ++wrong;
  }
  return wrong;
}

int run(int devices, int blocking) {
  sparsecollConfig_t config = SPARSECOLL_CONFIG_INITIALIZER;
  config.blocking = blocking;
  sparsecollComm_t comms[P];
  int device_of[P];
  for (int r = 0; r < P; ++r) device_of[r] = r % devices;
  check(sparsecollCommInitAll(comms, P, device_of, &config), nullptr);
  std::vector<Totals> all_totals(P);
  std::vector<std::thread> ranks;
  for (int r = 0; r < P; ++r)
    ranks.emplace_back(run_rank, r, device_of[r], blocking, comms[r], std::ref(all_totals[r]));
  for (std::thread& rank : ranks) rank.join();
  for (const sparsecollComm_t comm : comms) check(sparsecollCommDestroy(comm), comm);
  const int wrong = count_wrong(all_totals);
  std::printf("blocking = %d: %d ranks on %d GPU(s), %d of %d entries a step, %d entries wrong\n",
              blocking, P, devices < P ? devices : P, k, n, wrong);
  return wrong;
}

}  // namespace

int main() {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error != cudaSuccess || devices == 0) {
    std::printf("SKIPPED: no CUDA device (%s)\n",
                error == cudaSuccess ? "none is visible" : cudaGetErrorString(error));
    return 77;
  }
  const int wrong = run(devices, 1) + run(devices, 0);
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
