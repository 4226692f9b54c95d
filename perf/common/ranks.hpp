// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sparsecoll/sparsecoll.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/handles.hpp"
#include "simulated/model.hpp"

namespace sparsecoll::perf {

using Bytes = std::vector<std::byte>;

/// One rank's view of the run, and the little that ranks tell each other beside the library under
/// test: barriers, times, verdicts, the oracle's selections. Never goes through that library.
class Ranks {
 public:
  Ranks(int rank, int size) : rank_(rank), size_(size) {}
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  virtual ~Ranks() = default;

  int rank() const { return rank_; }
  int size() const { return size_; }

  virtual void barrier() = 0;
  /// Seconds since some moment.
  virtual double now();
  /// Does nothing for so long.
  virtual void sleep(double seconds);
  /// What every rank gave, in rank order; lengths may differ.
  virtual std::vector<Bytes> allgather(std::span<const std::byte> mine) = 0;
  /// A communicator of the library over these ranks, which may differ in `device` alone.
  /// Collective.
  virtual Communicator connect(const sparsecollConfig_t& config) = 0;

  /// allgather() of trivially copyable values.
  template <class T>
  std::vector<std::vector<T>> gather(std::span<const T> mine) {
    std::vector<std::vector<T>> all;
    for (const Bytes& bytes : allgather(std::as_bytes(mine))) {
      all.emplace_back(bytes.size() / sizeof(T));
      if (!bytes.empty()) std::memcpy(all.back().data(), bytes.data(), bytes.size());
    }
    return all;
  }
  /// One value of every rank.
  template <class T>
  std::vector<T> gather_value(const T& mine) {
    std::vector<T> all;
    for (const std::vector<T>& one : gather(std::span<const T>(&mine, 1))) all.push_back(one[0]);
    return all;
  }

 private:
  int rank_;
  int size_;
};

/// What a rank does; returns its exit status.
using Body = std::function<int(Ranks&)>;

/// The transports of this build, the default first.
std::vector<std::string> transports();

/// Where ranks run.
struct World {
  std::string transport;
  int threads = 4;  ///< ranks; "mpi" takes them from mpirun
  NetworkModel network = {};
};

/// Runs `body` on every rank and returns the largest exit status of the ranks of this process. An
/// exception of one rank ends the program on all of them, for the others may be waiting for it.
int launch(const World& world, const Body& body);

/// What the transport is in words: " over mpi", " as threads over nccl", " as threads".
std::string transport_text(const std::string& transport);

/// Ranks that are threads and talk over NCCL; device/connect_nccl.cpp, or device/without_nccl.cpp.
bool nccl_available();
/// As Ranks::connect(), each rank on its `config.device`, which is the thread's current one.
Communicator connect_nccl(Ranks& ranks, const sparsecollConfig_t& config);

/// The MPI half of the above; ranks_mpi.cpp, or without_mpi.cpp in a build without MPI.
bool mpi_available();
int launch_mpi(const Body& body);
/// Name and version of the MPI library; "" without MPI.
std::string mpi_version();

}  // namespace sparsecoll::perf
