// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Sparse sums over NCCL, without MPI. Each GPU of this process has a thread, a stream, a gradient
// and a residual. The first steps are queued call by call. Then a whole step (gradient, sum,
// update) is captured into a CUDA graph and replayed; the host only launches the graph. At the end
// the host checks that nothing is lost: the delivered sums and the residuals together are the sum
// of all inputs.
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
  std::exit(EXIT_FAILURE);  // ends all threads, because the others would wait for this one
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

// Stands for your computation. It makes integers, so that sums are exact in any order. The number
// of the step is in GPU memory, because every replay of a graph passes the same arguments.
__global__ void compute_gradient(float* gradient, float* input, const unsigned* step, int rank) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  unsigned bits = (static_cast<unsigned>(i) + (*step * 1024u + rank) * n) * 2654435761u;
  bits = (bits ^ (bits >> 15)) * 2246822519u;
  gradient[i] = static_cast<float>(bits >> 24) - 128.0f;
  input[i] += gradient[i];
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

// One rank's sums over all steps, and its residual at the end.
struct Totals {
  std::vector<float> input, delivered, residual;
};

// One rank's buffers, on the current device.
struct Training {
  int rank;
  sparsecollComm_t comm;
  cudaStream_t stream = nullptr;
  sparsecollResidual_t residual = nullptr;
  float *gradient = zeros<float>(n), *sum = zeros<float>(n);
  float *input = zeros<float>(n), *delivered = zeros<float>(n);
  unsigned* step_count = zeros<unsigned>(1);
};

// Queues one step. Except in the first one, the host does not wait.
void step(const Training& t) {
  constexpr int threads = 256, blocks = (n + threads - 1) / threads;
  compute_gradient<<<blocks, threads, 0, t.stream>>>(t.gradient, t.input, t.step_count, t.rank);
  check(cudaGetLastError());
  check(gtopkAllreduce(t.gradient, t.sum, n, k, sparsecollFloat32, sparsecollSum, t.residual,
                       t.comm, t.stream),
        t.comm);
  apply<<<blocks, threads, 0, t.stream>>>(t.sum, t.delivered, t.step_count);
  check(cudaGetLastError());
}

cudaGraphExec_t capture(const Training& t) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  check(cudaStreamBeginCapture(t.stream, cudaStreamCaptureModeThreadLocal));
  step(t);
  check(cudaStreamEndCapture(t.stream, &graph));
  check(cudaGraphInstantiate(&executable, graph, 0));
  check(cudaGraphDestroy(graph));
  return executable;
}

void run_rank(int rank, ncclComm_t nccl, Totals& totals) {
  check(cudaSetDevice(rank));
  sparsecollComm_t comm = nullptr;
  check(sparsecollCommInitNccl(&comm, nccl, nullptr), nullptr);
  Training t{rank, comm};
  check(cudaDeviceSynchronize());  // waits for the zeros
  check(cudaStreamCreateWithFlags(&t.stream, cudaStreamNonBlocking));
  check(sparsecollResidualCreate(&t.residual, n, sparsecollFloat32, comm), comm);
  for (int i = 0; i < eager; ++i) step(t);
  const cudaGraphExec_t graph = capture(t);
  for (int i = 0; i < replays; ++i) check(cudaGraphLaunch(graph, t.stream));
  check(cudaStreamSynchronize(t.stream));
  // Returns an error of any call so far, including those in replayed graphs.
  check(sparsecollCommSynchronize(comm), comm);
  totals.residual.resize(n);
  check(sparsecollResidualRead(t.residual, totals.residual.data()), comm);
  totals.input = to_host(t.input);
  totals.delivered = to_host(t.delivered);
  check(cudaGraphExecDestroy(graph));           // must precede the end of the communicator
  check(sparsecollCommDestroy(comm), nullptr);  // collective; frees the residual
  for (float* const buffer : {t.gradient, t.sum, t.input, t.delivered}) check(cudaFree(buffer));
  check(cudaFree(t.step_count));
  check(cudaStreamDestroy(t.stream));
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

int run(int devices) {
  std::vector<ncclComm_t> comms(devices);
  check(ncclCommInitAll(comms.data(), devices, nullptr));
  std::vector<Totals> all_totals(devices);
  std::vector<std::thread> ranks;
  for (int r = 0; r < devices; ++r)
    ranks.emplace_back(run_rank, r, comms[r], std::ref(all_totals[r]));
  for (std::thread& rank : ranks) rank.join();
  for (const ncclComm_t comm : comms) check(ncclCommDestroy(comm));
  const int wrong = count_wrong(all_totals);
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
