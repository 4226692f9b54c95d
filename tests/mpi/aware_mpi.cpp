// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/aware_mpi.hpp"

#include <cuda_runtime.h>
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include "simt/engine.hpp"

namespace {

using namespace sparsecoll::test::aware;

/// A message between device memory and a peer. MPI gets a copy on the host.
struct Moving {
  std::byte* at;
  int device;
  bool sends;
  std::vector<std::byte> copy;
};

std::mutex mutex;  // guards all members below
std::map<MPI_Request, Moving> moving;
Moved total;
std::atomic<bool> is_aware{true}, is_held{false};

[[noreturn]] void stop(const char* complaint) {
  std::fprintf(stderr, "MPI and memory of a device: %s\n", complaint);
  std::abort();
}

void expect(cudaError_t error) {
  if (error != cudaSuccess) stop(cudaGetErrorString(error));
}

/// Returns the device of this memory; -1 for the host's.
int device_of(const void* memory) {
  if (!simt::context_exists()) return -1;
  cudaPointerAttributes attributes{};
  expect(cudaPointerGetAttributes(&attributes, memory));
  return attributes.type == cudaMemoryTypeDevice ? attributes.device : -1;
}

void expect_current(int device) {
  int current = -1;
  expect(cudaGetDevice(&current));
  if (current != device) stop("another device is current");
}

/// Copies outside of any stream's order, so that work which is still queued shows.
void copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  cudaStream_t stream = nullptr;
  expect(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  expect(cudaMemcpyAsync(to, from, bytes, kind, stream));
  expect(cudaStreamSynchronize(stream));
  expect(cudaStreamDestroy(stream));
}

std::vector<std::byte> bytes_at(const Moving& one) {
  std::vector<std::byte> bytes(one.copy.size());
  copy(bytes.data(), one.at, bytes.size(), cudaMemcpyDeviceToHost);
  return bytes;
}

Moving begin(void* at, int bytes, bool sends) {
  if (!is_aware && std::getenv("SPARSECOLL_CUDA_AWARE") == nullptr)
    stop("given to an MPI that does not take it");
  Moving one{static_cast<std::byte*>(at), device_of(at), sends,
             std::vector<std::byte>(static_cast<size_t>(bytes))};
  expect_current(one.device);
  if (sends) one.copy = bytes_at(one);
  return one;
}

void end(const Moving& one) {
  if (one.sends) {
    if (bytes_at(one) != one.copy) stop("it was written to while it was sent");
    ++total.sent;
    total.bytes_sent += one.copy.size();
  } else {
    copy(one.at, one.copy.data(), one.copy.size(), cudaMemcpyHostToDevice);
    ++total.received;
    total.bytes_received += one.copy.size();
  }
}

int keep(Moving one, int code, MPI_Request request) {
  if (code == MPI_SUCCESS && !moving.emplace(request, std::move(one)).second)
    stop("two messages of one request");
  return code;
}

}  // namespace

Moved sparsecoll::test::aware::moved() {
  const std::lock_guard lock(mutex);
  return total;
}
void sparsecoll::test::aware::says(bool aware) { is_aware = aware; }
void sparsecoll::test::aware::hold(bool held) { is_held = held; }
bool sparsecoll::test::aware::under_way_is_there() {
  const std::lock_guard lock(mutex);
  return std::all_of(moving.begin(), moving.end(), [](const auto& each) {
    return device_of(each.second.at) == each.second.device;
  });
}

// These functions replace MPI's.

extern "C" int MPIX_Query_cuda_support(void) { return is_aware ? 1 : 0; }

int MPI_Isend(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request* request) {
  if (count == 0 || device_of(data) < 0)
    return PMPI_Isend(data, count, type, peer, tag, comm, request);
  const std::lock_guard lock(mutex);
  Moving one = begin(const_cast<void*>(data), count, true);
  const std::byte* const from = one.copy.data();
  // A synchronous send, as for large messages: some MPIs have one handle for all other sends.
  const int code = PMPI_Issend(from, count, type, peer, tag, comm, request);
  return keep(std::move(one), code, *request);
}

int MPI_Imrecv(void* data, int count, MPI_Datatype type, MPI_Message* message,
               MPI_Request* request) {
  if (count == 0 || device_of(data) < 0) return PMPI_Imrecv(data, count, type, message, request);
  const std::lock_guard lock(mutex);
  Moving one = begin(data, count, false);
  std::byte* const to = one.copy.data();
  const int code = PMPI_Imrecv(to, count, type, message, request);
  return keep(std::move(one), code, *request);
}

int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
  const std::lock_guard lock(mutex);
  const auto found = moving.find(*request);
  if (found == moving.end()) return PMPI_Test(request, done, status);
  expect_current(found->second.device);
  *done = 0;
  if (is_held) return MPI_SUCCESS;
  const int code = PMPI_Test(request, done, status);
  if (!*done) return code;
  end(found->second);
  moving.erase(found);
  return code;
}
