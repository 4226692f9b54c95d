// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Communicators over MPI.
#include "api/bridge.hpp"
#include "calls/framed/framed_link.hpp"
#include "sparsecoll/sparsecoll_mpi.h"
#include "transport/mpi.hpp"
#include "transport/mpi_duplicate.hpp"

using namespace sparsecoll;

namespace {

/// Writes a warning if this process is the only rank of MPI and a launcher started more. It is the
/// only line that the library writes unasked: without it, models differ silently.
void warn_of_one_rank(const Config& config) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks > 1) return;
  const std::optional<std::string> warning = warning_of_one_rank(config);
  if (!warning) return;
  const bool logs = config.log_level != LogLevel::none;
  const Log log(logs ? config.log_level : LogLevel::warn, logs ? config.log_file : "",
                "rank 0 of 1");
  log.write(LogLevel::warn, *warning);
}

/// Makes a communicator over the one of MPI that `mpi()` returns.
sparsecollResult_t init(const char* name, sparsecollComm_t* comm, FunctionRef<MPI_Comm()> mpi,
                        const sparsecollConfig_t* config) {
  return on_init(name, [&] {
    // Bad arguments must not keep the other ranks waiting: the init notifies them.
    auto [checked, problem] = check_config(config);
    if (!comm && !problem)
      problem = Error(sparsecollInvalidArgument, "comm: expected a pointer, got NULL");
    const Deadline deadline = Deadline::after(checked.values.timeoutMs);
    MpiOptions options;
    options.device_memory = checked.cuda_aware;
    options.eager = checked.mpi_eager;
    const auto made = std::make_shared<Communicator>(
        std::make_unique<FramedLink>(make_mpi_transport(mpi(), deadline, options)), checked);
    *comm = static_cast<sparsecollComm_t>(made->initialize(problem, deadline));
    warn_of_one_rank(checked);
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
