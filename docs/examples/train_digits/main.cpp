// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Data-parallel training with sparse gradient reduction; see README.md.
//   reducer.cpp   the calls of sparsecoll: what to copy into a training of your own
//   trainer.cpp   the training loop of one rank
//   network.cpp   the multilayer perceptron
//   world_*.cpp   ranks as processes of mpirun, or as threads of this process
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>

#include "options.h"
#include "reducer.h"
#include "trainer.h"
#include "world.h"

int main(int argc, char** argv) {
  using namespace train;
  const Options options = parse_options(argc, argv);
  try {
    const std::filesystem::path directory = options.data_directory;
    const Dataset dataset{load_digits(directory / "optdigits.tra"),
                          load_digits(directory / "optdigits.tes")};
    const Body body = [&](World& world) { train::train(options, dataset, world); };
    if (options.transport == Transport::mpi) {
      run_mpi(config_for(options.mode), body);
    } else {
      run_local(options.ranks, config_for(options.mode), body);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_digits: %s\n", error.what());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
