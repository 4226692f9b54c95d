// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Communicators over MPI. A file of libsparsecoll_mpi.
#include "api/bridge.hpp"
#include "api/transport_init.hpp"
#include "core/function_ref.hpp"
#include "sparsecoll/sparsecoll_mpi.h"
#include "transport/mpi.hpp"
#include "transport/mpi_duplicate.hpp"

using namespace sparsecoll;

namespace {

/// Makes a communicator over the MPI communicator that `mpi()` returns.
sparsecollResult_t init(const char* name, sparsecollComm_t* comm, FunctionRef<MPI_Comm()> mpi,
                        const sparsecollConfig_t* config) {
  return on_init(name, [&] {
    const TransportInit init(comm, config);
    MpiOptions options;
    options.device_memory = init.config().cuda_aware;
    options.eager = init.config().mpi_eager;
    if (const auto spin = init.config().spin_us) options.spin = std::chrono::microseconds(*spin);
    init.run(make_mpi_transport(mpi(), init.deadline(), options));
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks == 1) init.warn_of_one_rank();
  });
}

}  // namespace

sparsecollResult_t sparsecollCommInitMpi(sparsecollComm_t* comm, MPI_Comm mpi,
                                         const sparsecollConfig_t* config) {
  return init(
      "sparsecollCommInitMpi", comm, [&] { return mpi; }, config);
}

sparsecollResult_t sparsecollCommInitMpiFint(sparsecollComm_t* comm, int fortranComm,
                                             const sparsecollConfig_t* config) {
  const auto in_c = [&] {
    check_mpi_caller();  // before MPI is running, MPI_Comm_f2c() ends the process
    return MPI_Comm_f2c(fortranComm);
  };
  return init("sparsecollCommInitMpiFint", comm, in_c, config);
}
