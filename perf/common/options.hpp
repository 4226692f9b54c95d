// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/ranks.hpp"

namespace sparsecoll::perf {

/// What one of the programs is, for its command line.
struct Program {
  std::string name;
  std::string description;
  std::vector<std::string> algorithms;          ///< the library's; empty: a local kernel, no --algo
  std::vector<std::string> default_algorithms;  ///< without the baselines, which come on top
  std::vector<std::string> baselines = {"mpi-dense", "mpi-allgather"};  ///< where there is MPI
  bool tensors = false;  ///< can search for the size of groups of tensors
  bool owners = false;   ///< entries go to owners: no forms, no sums, no residual
  bool device = false;   ///< can measure the kernels for CUDA
};

/// The command line; letters and long names are those of nccl-tests where it has them.
struct Options {
  std::string program;
  std::size_t min_bytes = std::size_t{1} << 20;
  std::size_t max_bytes = std::size_t{1} << 24;
  double factor = 4;
  int iterations = 20;
  int warmup = 5;
  bool check = true;
  std::string op = "sum";
  std::string datatype = "float32";
  std::string combine = "max";  ///< how the ranks' times of one call become one: -a
  std::string memory = "host";
  std::string transport;
  int threads = 4;
  NetworkModel network;
  std::string form = "dense";
  std::string wire = "native";  ///< in what values travel
  bool feedback = false;
  bool graph = false;  ///< timed calls are launches of a CUDA graph
  double overlap = 0.5;
  double skew = 1;
  double owner_skew = 0;  ///< rank r owns (r + 1)^-owner_skew of the indices
  std::uint64_t seed = 1;
  std::vector<double> densities;
  std::vector<std::size_t> ks;
  std::vector<std::string> algorithms;
  std::vector<std::string> inputs;                 ///< kinds of data of the local kernel
  int selection_threads = 1;                       ///< threads that select from one vector
  std::string simd = "auto";                       ///< their vector instructions
  std::string kernel = "select";                   ///< of a device
  std::vector<int> kernel_ranks;                   ///< P of merges, and messages of pack and unpack
  bool cold = true;                                ///< on a device: calls find nothing in its cache
  std::size_t check_count = std::size_t{1} << 24;  ///< on a device: longest vector that is checked
  std::string data;                                ///< file name, %r = rank; empty: generated
  std::string tensors;  ///< file or list of counts: search the size of groups of them
  std::string json;
  bool progress = false;

  World world() const { return {transport, threads, network}; }
};

/// Parses the command line. Nothing comes back when the program has to end at once with `status`:
/// help was asked for (0), or an option is bad (2; the message on stderr lists the valid values).
std::optional<Options> parse(int argc, char** argv, const Program& program, int* status);

inline constexpr const char* kTransportWords =
    "mpi: ranks from mpirun; local: threads; simulated: threads over a model of a network, in "
    "virtual time; nccl: threads, a GPU each";
/// Throws CLI::ValidationError for a transport that does not take vectors from where they are.
void check_transport(const Options& options);

/// The lengths n of the sweep, in elements of `element` bytes.
std::vector<std::size_t> lengths(const Options& options, std::size_t element);
/// The k of the sweep for vectors of n: at most n, each once.
std::vector<std::size_t> selections(const Options& options, std::size_t n);

}  // namespace sparsecoll::perf
