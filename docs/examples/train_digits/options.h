// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace train {

/// How what the ranks learn becomes one.
enum class Mode {
  dense,
  topk,
  oktopk,
  gtopk,
  topka2a,
  oktopk_reuse,
  groups,
  dgc,
  sgp,
  osgp,
  gossip
};

/// Where the ranks live.
enum class Transport { mpi, local };

/// Where a rank's vectors are.
enum class Memory { host, device };

/// What the command line says. The defaults of the learning are the ones that the convergence test
/// uses for every mode; README.md says why they are what they are.
struct Options {
  Mode mode = Mode::oktopk;
  Transport transport = Transport::local;
  Memory memory = Memory::host;
  int ranks = 4;  // of Transport::local; mpirun decides for Transport::mpi

  // 64*512+512 + 512*160+160 + 160*10+10 = 116,970 parameters: far more than the task needs, so
  // that 1% of them is still a thousand entries, as in the networks that sparse reduction is for.
  std::vector<std::size_t> hidden = {512, 160};  // widths of the layers between pixels and classes

  std::size_t epochs = 20;
  double seconds = 0;     // of training after which the next report is the last; 0: none
  std::size_t every = 0;  // steps after which the model is judged within an epoch, too; 0: none
  std::uint64_t seed = 1;
  std::size_t batch = 16;  // images per rank and step
  double density = 0.01;   // k / n
  double learning_rate = 0.02;
  double momentum = 0.9;
  std::size_t warm_up = 0;  // epochs of higher density; parse_options() knows each mode's own
  std::size_t fusion_bytes = std::numeric_limits<std::size_t>::max();  // of a group of tensors
  int max_delay = 2;                                                   // tau, of Mode::osgp
  double mixing = 0.1;                                                 // gamma, of Mode::gossip

  bool validate = false;  // judge by training images held out
  bool check = false;
  std::string data_directory;
  std::string json_file;        // empty: none
  std::string network;          // a name for the rows; empty: none
  std::string gradient_prefix;  // empty: no dump
};

/// Reads the command line. Ends the process for --help and for a line that cannot be understood.
Options parse_options(int argc, char** argv);

std::string name_of(Mode mode);
std::string name_of(Transport transport);
std::string name_of(Memory memory);

}  // namespace train
