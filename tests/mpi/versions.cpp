// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// A rank of another version of the library: the init over MPI fails on all ranks and names the rank
// and both versions. The version is compiled in, so that the odd rank makes its part of the init
// from internal classes.

#include "api/config.hpp"
#include "calls/framed/framed_link.hpp"
#include "support/deviations.hpp"
#include "support/hang_guard.hpp"
#include "support/mpi_verdict.hpp"
#include "support/sweep.hpp"
#include "transport/mpi.hpp"

namespace {

using namespace sparsecoll;

/// Makes an init as a rank of this version, and returns its error.
Error init_as(uint64_t version, const sparsecollConfig_t& values) {
  const Config config = make_config(&values);
  const Deadline deadline = Deadline::after(values.timeoutMs);
  Descriptor descriptor = describe(config);
  descriptor.argument[kVersion] = version;
  Memory memory;
  Arena arena(memory);
  Stats stats;
  FramedLink link(make_mpi_transport(MPI_COMM_WORLD, deadline, {}));
  link.open({memory, arena, config.check, values.timeoutMs});
  link.begin_call(0);
  try {
    link.run(
        {0, deadline, stats}, descriptor, [] {}, [](AgreedCall& call) { call.agree(); });
    return Error(sparsecollSuccess, "the versions agree");
  } catch (const Error& error) {
    link.end_call();
    link.close(deadline);
    return error;
  }
}

std::string init_with(int odd, uint64_t version) {
  const int rank = test::rank_in(MPI_COMM_WORLD);
  const sparsecollConfig_t config = test::default_config();
  sparsecollResult_t result = sparsecollSuccess;
  std::string message;
  if (rank == odd) {
    const Error error = init_as(version, config);
    result = error.code();
    message = error.what();
  } else {
    sparsecollComm_t comm = nullptr;
    result = sparsecollCommInitMpi(&comm, MPI_COMM_WORLD, &config);
    message = sparsecollGetLastError(nullptr);
  }
  const std::string words = std::string("version: this rank passed ") +
                            std::to_string(rank == odd ? version : SPARSECOLL_VERSION) + ", rank ";
  if (result != sparsecollInvalidUsage || message.find(words) == std::string::npos)
    return std::string(sparsecollGetErrorString(result)) + " [" + message + "]";
  const bool names = rank == odd || test::has_word(message, "rank " + std::to_string(odd));
  return names ? "" : "the rank is not named: " + message;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int code = 0;
  {
    const test::HangGuard guard("mpi versions", 1);
    test::Verdict verdict;
    for (int odd = 0; odd < test::size_of(MPI_COMM_WORLD); ++odd) {
      for (const uint64_t version : {uint64_t{SPARSECOLL_VERSION} + 1, uint64_t{10000}})
        verdict.check("rank " + std::to_string(odd), init_with(odd, version));
      const test::MpiCommunicator comm(MPI_COMM_WORLD, test::default_config());
      verdict.check("afterwards",
                    test::join_case(comm.get(), test::Case{1, test::kOktopk, 100, 9}));
    }
    code = verdict.report("mpi versions");
  }
  MPI_Finalize();
  return code;
}
