// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Ranks that are processes of mpirun.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <sparsecoll/sparsecoll_mpi.hpp>

#include "ranks.h"

namespace train {
namespace {

class Processes final : public Ranks {
 public:
  Processes() {
    int level = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);  // queued calls need it
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  }
  ~Processes() override { MPI_Finalize(); }

  Outcome run(const sparsecoll::Config& config, const Body& body) override {
    try {
      sparsecoll::Communicator comm = sparsecoll::initMpi(MPI_COMM_WORLD, config);
      return body(comm);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "train_torch: rank %d: %s\n", rank_, error.what());
      MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
      throw;
    }
  }
  bool reports() const override { return rank_ == 0; }

 private:
  int rank_ = 0;
};

}  // namespace

std::unique_ptr<Ranks> make_processes() { return std::make_unique<Processes>(); }

}  // namespace train
