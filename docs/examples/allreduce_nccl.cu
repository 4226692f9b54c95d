// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Sparse sums over NCCL, without MPI: a thread for each GPU of this process, each with a stream, a
// gradient and a residual on its GPU. The first calls are made one by one; then a step (gradient,
// sum, what is done with it) is captured into a CUDA graph and replayed, with which the host has
// nothing to do any more. What was delivered and what the residuals still hold must be the plain
// sum of all that was ever given, which the host adds up.
#include <cuda_runtime.h>
#include <nccl.h>
#include <sparsecoll/sparsecoll.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

namespace {

constexpr int n = 1 << 18, k = n / 100, eager = 2, replays = 20;

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(EXIT_FAILURE);  // the other threads would wait for this one
}

void check(ncclResult_t result) {
  if (result == ncclSuccess) return;
  std::fprintf(stderr, "NCCL: %s\n", ncclGetErrorString(result));
  std::exit(EXIT_FAILURE);
}

void check(sparsecollResult_t result, sparsecollComm_t comm) {
  if (result == sparsecollSuccess) return;
  std::fprintf(stderr, "%s: %s\n", sparsecollGetErrorString(result), sparsecollGetLastError(comm));
  std::exit(EXIT_FAILURE);
}

// Yours. These are integers, of which the sums are exact in any order. The number of the step is on
// the GPU, since a graph does the same with the same arguments every time.
__global__ void compute_gradient(float* gradient, float* given, const unsigned* step, int rank) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  unsigned noise = (static_cast<unsigned>(i) + (*step * 1024u + rank) * n) * 2654435761u;
  noise = (noise ^ (noise >> 15)) * 2246822519u;
  gradient[i] = static_cast<float>(noise >> 24) - 128.0f;
  given[i] += gradient[i];
}

__global__ void apply(const float* sum, float* delivered, unsigned* step) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) delivered[i] += sum[i];
  if (i == 0) ++*step;
}

template <class T>
T* zeros(int count) {
  T* at = nullptr;
  check(cudaMalloc(&at, count * sizeof(T)));
  check(cudaMemset(at, 0, count * sizeof(T)));
  return at;
}

std::vector<float> to_host(const float* at) {
  std::vector<float> values(n);
  check(cudaMemcpy(values.data(), at, n * sizeof *at, cudaMemcpyDeviceToHost));
  return values;
}

// What one rank gave and got in all steps, and what its residual holds at the end.
struct Account {
  std::vector<float> given, delivered, residual;
};

// One rank's buffers, on the current device.
struct Training {
  int rank;
  sparsecollComm_t comm;
  cudaStream_t stream = nullptr;
  sparsecollResidual_t residual = nullptr;
  float *gradient = zeros<float>(n), *sum = zeros<float>(n);
  float *given = zeros<float>(n), *delivered = zeros<float>(n);
  unsigned* number = zeros<unsigned>(1);
};

// Queues one step; nothing in it waits on the host once it was made before.
void step(const Training& t) {
  constexpr int threads = 256, blocks = (n + threads - 1) / threads;
  compute_gradient<<<blocks, threads, 0, t.stream>>>(t.gradient, t.given, t.number, t.rank);
  check(cudaGetLastError());
  check(gtopkAllreduce(t.gradient, t.sum, n, k, sparsecollFloat32, sparsecollSum, t.residual,
                       t.comm, t.stream),
        t.comm);
  apply<<<blocks, threads, 0, t.stream>>>(t.sum, t.delivered, t.number);
  check(cudaGetLastError());
}

cudaGraphExec_t capture(const Training& t) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  check(cudaStreamBeginCapture(t.stream, cudaStreamCaptureModeThreadLocal));
  step(t);
  check(cudaStreamEndCapture(t.stream, &graph));
  check(cudaGraphInstantiate(&ready, graph, 0));
  check(cudaGraphDestroy(graph));
  return ready;
}

void run_rank(int rank, ncclComm_t nccl, Account& account) {
  check(cudaSetDevice(rank));
  sparsecollComm_t comm = nullptr;
  check(sparsecollCommInitNccl(&comm, nccl, nullptr), nullptr);
  Training t{rank, comm};
  check(cudaDeviceSynchronize());  // the zeros are there
  check(cudaStreamCreateWithFlags(&t.stream, cudaStreamNonBlocking));
  check(sparsecollResidualCreate(&t.residual, n, sparsecollFloat32, comm), comm);
  for (int i = 0; i < eager; ++i) step(t);
  const cudaGraphExec_t graph = capture(t);
  for (int i = 0; i < replays; ++i) check(cudaGraphLaunch(graph, t.stream));
  check(cudaStreamSynchronize(t.stream));
  // Whatever has gone wrong in calls that nobody waited for.
  check(sparsecollCommSynchronize(comm), comm);
  account.residual.resize(n);
  check(sparsecollResidualRead(t.residual, account.residual.data()), comm);
  account.given = to_host(t.given);
  account.delivered = to_host(t.delivered);
  check(cudaGraphExecDestroy(graph));           // before the communicator that it uses
  check(sparsecollCommDestroy(comm), nullptr);  // with its residual; all ranks come to this
  for (float* const buffer : {t.gradient, t.sum, t.given, t.delivered}) check(cudaFree(buffer));
  check(cudaFree(t.number));
  check(cudaStreamDestroy(t.stream));
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

int run(int devices) {
  std::vector<ncclComm_t> comms(devices);
  check(ncclCommInitAll(comms.data(), devices, nullptr));
  std::vector<Account> accounts(devices);
  std::vector<std::thread> ranks;
  for (int r = 0; r < devices; ++r)
    ranks.emplace_back(run_rank, r, comms[r], std::ref(accounts[r]));
  for (std::thread& rank : ranks) rank.join();
  for (const ncclComm_t comm : comms) check(ncclCommDestroy(comm));
  const int wrong = count_wrong(accounts);
  std::printf(
      "%d GPU(s), %d steps of which %d by a graph, %d of %d entries each: %d entries wrong\n",
      devices, eager + replays, replays, k, n, wrong);
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
  return run(devices) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
