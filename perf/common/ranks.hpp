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

/// One rank of the run. It exchanges with the other ranks what measuring needs: barriers, times,
/// numbers of wrong values, the oracle's selections. It does not use the library for that.
class Ranks {
 public:
  Ranks(int rank, int size) : rank_(rank), size_(size) {}
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  virtual ~Ranks() = default;

  int rank() const { return rank_; }
  int size() const { return size_; }

  virtual void barrier() = 0;
  /// Returns the current time in seconds since a fixed time.
  virtual double now();
  /// Waits until now() has reached this time.
  virtual void sleep(double seconds);
  /// Runs `work`, which must not touch anything that ranks share. A simulation runs it on several
  /// ranks at a time, and it takes no virtual time. Collective.
  virtual void prepare(const std::function<void()>& work) { work(); }
  /// Returns the bytes that each rank passed, in rank order. Lengths may differ. Collective.
  virtual std::vector<Bytes> allgather(std::span<const std::byte> mine) = 0;
  /// Makes a communicator of the library over these ranks. Their configurations may differ only in
  /// `device`. Collective.
  virtual Communicator connect(const sparsecollConfig_t& config) = 0;

  /// Returns the values that each rank passed; they must be trivially copyable. Collective.
  template <class T>
  std::vector<std::vector<T>> gather(std::span<const T> mine) {
    std::vector<std::vector<T>> all;
    for (const Bytes& bytes : allgather(std::as_bytes(mine))) {
      all.emplace_back(bytes.size() / sizeof(T));
      if (!bytes.empty()) std::memcpy(all.back().data(), bytes.data(), bytes.size());
    }
    return all;
  }
  /// Returns the value that each rank passed. Collective.
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

/// The function that each rank runs. It returns the rank's exit status.
using Body = std::function<int(Ranks&)>;

/// Returns the names of the transports of this build, the default first.
std::vector<std::string> transports();

/// The ranks to launch.
struct World {
  std::string transport;
  int threads = 4;  ///< number of ranks; with "mpi" and "ucx" the launcher gives the number
  NetworkModel network = {};
};

/// Runs `body` on every rank and returns the largest exit status of the ranks of this process. If a
/// rank throws, the program ends on all ranks, because the others may wait for that rank.
int launch(const World& world, const Body& body);

/// Returns a phrase for tables: " over mpi", " over ucx", " as threads over nccl", " as threads".
std::string transport_text(const std::string& transport);

/// Returns true if this build has --transport nccl. It and connect_nccl() are defined in
/// device/connect_nccl.cpp, or in device/without_nccl.cpp in a build without NCCL.
bool nccl_available();
/// Makes a communicator over NCCL like Ranks::connect(). `config.device` must be the current device
/// of the rank's thread. Collective.
Communicator connect_nccl(Ranks& ranks, const sparsecollConfig_t& config);

/// Returns true if perf/launch or torchrun has started this process.
bool launched_without_mpi();
/// Runs `body` on this process, as one rank of perf/launch. The library sends over UCX.
int launch_sockets(const Body& body);

/// Returns true if this build has --transport mpi. It, launch_mpi() and mpi_version() are defined
/// in ranks_mpi.cpp, or in without_mpi.cpp in a build without MPI.
bool mpi_available();
/// Runs `body` on this process, as one rank of an mpirun. With `over_ucx` the library finds the
/// other ranks through MPI, and sends its own messages over UCX.
int launch_mpi(const Body& body, bool over_ucx);
/// Returns the name and version of the MPI library, or "" without MPI.
std::string mpi_version();

}  // namespace sparsecoll::perf
