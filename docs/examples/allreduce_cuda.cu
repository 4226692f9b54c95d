// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Gradients that never leave their GPUs: every rank is a thread with a device, a stream and buffers
// there; ranks may share a device. First each call returns when its messages are through and its
// last kernels are on the stream (blocking = 1), then at once (blocking = 0). What was delivered
// and what the residuals still hold must be the plain sum of all that was ever given, which the
// host adds up.
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
  std::exit(EXIT_FAILURE);  // the other threads would wait for this one
}

void check(sparsecollResult_t result, sparsecollComm_t comm) {
  if (result == sparsecollSuccess) return;
  std::fprintf(stderr, "%s: %s\n", sparsecollGetErrorString(result), sparsecollGetLastError(comm));
  std::exit(EXIT_FAILURE);
}

// Yours. These are integers, of which the sums are exact in any order.
__global__ void compute_gradient(float* gradient, float* given, unsigned seed) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  unsigned noise = (static_cast<unsigned>(i) + seed * n) * 2654435761u;
  noise = (noise ^ (noise >> 15)) * 2246822519u;
  gradient[i] = static_cast<float>(noise >> 24) - 128.0f;
  given[i] += gradient[i];
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

// What one rank gave and got in all steps, and what its residual holds at the end.
struct Account {
  std::vector<float> given, delivered, residual;
};

void run_rank(int rank, int device, int blocking, sparsecollComm_t comm, Account& account) {
  constexpr int threads = 256, blocks = (n + threads - 1) / threads;
  check(cudaSetDevice(device));
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream));
  float *const gradient = zeros(), *const sum = zeros();
  float *const given = zeros(), *const delivered = zeros();
  sparsecollResidual_t residual = nullptr;  // goes where the buffers of its first call are
  check(sparsecollResidualCreate(&residual, n, sparsecollFloat32, comm), comm);
  for (int step = 0; step < steps; ++step) {
    const auto seed = static_cast<unsigned>(step * P + rank);
    compute_gradient<<<blocks, threads, 0, stream>>>(gradient, given, seed);
    check(cudaGetLastError());
    // Comes after the kernel, which is on the same stream.
    check(sparseAllreduce(gradient, sum, n, k, sparsecollFloat32, sparsecollSum, residual, comm,
                          stream),
          comm);
    // A call that was only queued: what follows on the stream waits for it, and the host does not
    // wait for the device.
    if (blocking == 0) check(sparsecollCommStreamWait(comm, stream), comm);
    apply<<<blocks, threads, 0, stream>>>(sum, delivered);
    check(cudaGetLastError());
  }
  check(sparsecollCommSynchronize(comm), comm);  // tells the errors of queued calls
  check(cudaStreamSynchronize(stream));
  account.residual.resize(n);
  check(sparsecollResidualRead(residual, account.residual.data()), comm);
  account.given = to_host(given);
  account.delivered = to_host(delivered);
  check(cudaFree(gradient));
  check(cudaFree(sum));
  check(cudaStreamDestroy(stream));
}

// How many entries lost something, or differ between ranks.
int count_wrong(const std::vector<Account>& accounts) {
  int wrong = 0;
  for (std::size_t i = 0; i < n; ++i) {
    float all = 0, kept = 0;
    bool same = true;
    for (const Account& account : accounts) {
      all += account.given[i];
      kept += account.residual[i];
      same = same && account.delivered[i] == accounts[0].delivered[i];
    }
    if (!same || accounts[0].delivered[i] + kept != all) ++wrong;
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
  std::vector<Account> accounts(P);
  std::vector<std::thread> ranks;
  for (int r = 0; r < P; ++r)
    ranks.emplace_back(run_rank, r, device_of[r], blocking, comms[r], std::ref(accounts[r]));
  for (std::thread& rank : ranks) rank.join();
  for (const sparsecollComm_t comm : comms) check(sparsecollCommDestroy(comm), comm);
  const int wrong = count_wrong(accounts);
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
