// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Data-parallel training with sparse gradient reduction; see README.md.
// These files call sparsecoll, and can be copied into other training programs:
//   reducer.cpp     the mean of all gradients, of one vector or of groups of tensors
//   deep_gradient_compression.cpp   momentum before the reduction, by sparsecollTopk and a sum
//   gossip.cpp      push-sum: neighbours average their models
// The other files:
//   optimizer.cpp   the choice among these, and SGD with momentum
//   trainer.cpp     the training loop of one rank
//   network.cpp     the multilayer perceptron
//   backend_*       the vectors and their arithmetic, in host memory or GPU memory
//   world_*.cpp     the ranks: processes of mpirun, or threads of this process
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>

#include "backend.h"
#include "optimizer.h"
#include "options.h"
#include "trainer.h"
#include "world.h"

namespace {
constexpr int kNoDevice = 3;  // the exit status that the programs in perf/ use, too
}

int main(int argc, char** argv) {
  using namespace train;
  const Options options = parse_options(argc, argv);
  if (options.memory == Memory::device) {
    if (const std::string why = why_no_device(); !why.empty()) {
      std::fprintf(stderr, "train_digits: --memory device: %s\n", why.c_str());
      return kNoDevice;
    }
  }
  try {
    const std::filesystem::path directory = options.data_directory;
    Dataset dataset{load_digits(directory / "optdigits.tra"),
                    load_digits(directory / "optdigits.tes")};
    if (options.validate) dataset = hold_out(dataset.training);
    const Body body = [&](World& world) { train::train(options, dataset, world); };
    if (options.transport == Transport::mpi) {
      run_mpi(config_for(options), options.go_on, body);
    } else {
      run_local(options.ranks, config_for(options), body);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_digits: %s\n", error.what());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
