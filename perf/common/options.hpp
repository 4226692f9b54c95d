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

/// The properties of a program that determine its command line.
struct Program {
  std::string name;
  std::string description;
  std::string examples;                         ///< lines for --help
  std::vector<std::string> algorithms;          ///< algorithms of the library; empty: topk_perf,
                                                ///< which has no --algo
  std::vector<std::string> default_algorithms;  ///< the default of --algo; baselines are added
  std::vector<std::string> baselines = {"mpi-dense", "mpi-allgather"};  ///< with MPI
  bool tensors = false;                                                 ///< has --tensors
  bool owners = false;  ///< sparseAlltoall, which has no --form, --op and --feedback
  bool device = false;  ///< can measure CUDA kernels
};

/// The values of the command line. Letters and long names are those of nccl-tests if it has them.
struct Options {
  std::string program;
  std::size_t min_bytes = std::size_t{1} << 20;
  std::size_t max_bytes = std::size_t{1} << 24;
  double factor = 4;
  int iterations = 20;
  int warmup = 10;  ///< as many as the trials of Auto take
  int rounds = 1;   ///< in each round every algorithm makes a part of its timed calls
  bool check = true;
  std::string op = "sum";
  std::string datatype = "float32";
  std::string combine = "max";  ///< -a: average, min or max of the ranks' times, or makespan
  std::string memory = "host";
  std::string transport;
  int threads = 4;
  NetworkModel network;
  std::string form = "dense";
  std::string wire = "native";  ///< type in which values are sent
  bool feedback = false;
  bool graph = false;  ///< each timed call launches a CUDA graph
  double overlap = 0.5;
  double skew = 1;
  double owner_skew = 0;  ///< rank r owns (r + 1)^-owner_skew of the indices
  std::uint64_t seed = 1;
  std::vector<double> densities;
  std::vector<std::size_t> ks;
  std::vector<std::string> algorithms;
  std::vector<std::string> inputs;  ///< topk_perf: kinds of data
  int selection_threads = 1;        ///< topk_perf: threads that select from one vector
  std::string simd = "auto";        ///< topk_perf: vector instructions of the selection
  int recorded_calls = 0;           ///< above 0: measures the flight recorder, nothing else
  std::string kernel = "select";    ///< on a device: the kernel to measure
  std::vector<int> kernel_ranks;    ///< on a device: inputs of merge, messages of pack
  bool cold = true;                 ///< on a device: overwrite the device's cache before calls
  std::size_t check_count = std::size_t{1} << 24;  ///< on a device: largest count that is checked
  std::string data;                                ///< file name, %r = rank; empty: generated
  std::string tensors;  ///< file or list of counts: search for the best size of groups
  std::string json;
  bool progress = false;

  World world() const { return {transport, threads, network}; }
};

/// Parses the command line. Returns nothing if the program must exit with `*status` at once: 0
/// after
/// --help, or 2 after a bad option; the message on stderr lists the valid values.
std::optional<Options> parse(int argc, char** argv, const Program& program, int* status);

inline constexpr const char* kTransportWords =
    "mpi: ranks from mpirun; ucx: from perf/launch, torchrun or mpirun, the library's messages "
    "over "
    "UCX; local: threads; simulated: threads over a model of a network, in virtual time; nccl: "
    "threads, a GPU each";
/// Throws CLI::ValidationError if the transport cannot use vectors in options.memory.
void check_transport(const Options& options);

/// Returns the lengths n that the program measures; `element` is the size of a value in bytes.
std::vector<std::size_t> lengths(const Options& options, std::size_t element);
/// Returns the distinct values of k that the program measures for vectors of length n.
std::vector<std::size_t> selections(const Options& options, std::size_t n);

}  // namespace sparsecoll::perf
