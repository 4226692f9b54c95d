// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace train {

/// The method by which ranks combine gradients or models; README.md describes them.
enum class Mode {
  dense,
  topk,
  oktopk,
  gtopk,
  topka2a,
  sharded,
  oktopk_reuse,
  groups,
  dgc,
  sgp,
  osgp,
  gossip
};

/// The kind of ranks: processes of mpirun, or threads of this process.
enum class Transport { mpi, local };

/// The memory of a rank's vectors.
enum class Memory { host, device };

/// The values of the command line. The convergence test uses the defaults for every mode; README.md
/// explains them.
struct Options {
  Mode mode = Mode::oktopk;
  Transport transport = Transport::local;
  Memory memory = Memory::host;
  int ranks = 4;  // for Transport::local; mpirun gives the number for Transport::mpi

  // 64*512+512 + 512*160+160 + 160*10+10 = 116,970 parameters. The task needs far fewer, but with
  // these 1% of the parameters is about a thousand entries, as in networks that need sparse sums.
  std::vector<std::size_t> hidden = {512, 160};  // widths of the layers between pixels and classes

  std::size_t epochs = 20;
  double seconds = 0;     // training time after which the next evaluation is the last; 0: no limit
  std::size_t every = 0;  // steps between evaluations within an epoch; 0: none
  std::uint64_t seed = 1;
  std::size_t batch = 16;       // images per rank and step
  double density = 0.01;        // k / n
  std::size_t dense_below = 0;  // sparsecollConfig_t::denseBelow
  int wire = 0;                 // sparsecollWire_t
  double learning_rate = 0.02;
  double momentum = 0.9;
  std::size_t warm_up = 0;  // epochs of higher density; parse_options() sets the mode's default
  std::size_t fusion_bytes = std::numeric_limits<std::size_t>::max();  // most bytes of a group
  int max_delay = 2;                                                   // tau of Mode::osgp
  double mixing = 0.1;                                                 // gamma of Mode::gossip

  bool go_on = false;  // train without ranks that are gone
  int killed = -1;     // a rank that kills itself in epoch 2, to show that; -1: none

  bool validate = false;  // evaluate on training images that are held out
  bool check = false;
  std::string data_directory;
  std::string json_file;        // empty: none
  std::string network;          // a name for the rows; empty: none
  std::string gradient_prefix;  // empty: no dump
};

/// Parses the command line. Ends the process after --help or a bad option.
Options parse_options(int argc, char** argv);

std::string name_of(Mode mode);
std::string name_of(Transport transport);
std::string name_of(Memory memory);

}  // namespace train
