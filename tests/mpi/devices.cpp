// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests device buffers over MPI, with ranks that share a device. Every verb gives the bits that it
// gives with host buffers, in results and residuals, and sends as many bytes, with blocking = 1 and
// 0. With the argument "direct" messages are so large that a CUDA-aware MPI moves them from device
// to device; blocking is 0 then.

#include <chrono>
#include <cstdio>
#include <string_view>

#include "mpi/device_verbs.hpp"
#include "support/hang_guard.hpp"

extern "C" int MPIX_Query_cuda_support(void) __attribute__((weak));

namespace {

using namespace sparsecoll::test;

/// Empty: none.
const char* reason_to_skip(bool direct) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return "there is no device";
  const bool aware = MPIX_Query_cuda_support && MPIX_Query_cuda_support() == 1;
  return direct && !aware ? "MPI is not CUDA-aware" : "";
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  Way way;
  if (argc > 1 && std::string_view(argv[1]) == "direct") way = direct_way(size_of(MPI_COMM_WORLD));
  if (const std::string reason = reason_to_skip(way.direct); !reason.empty()) {
    if (rank_in(MPI_COMM_WORLD) == 0) std::printf("skipped: %s\n", reason.c_str());
    MPI_Finalize();
    return 77;
  }
  Verdict verdict;
  {
    const HangGuard guard("device buffers over MPI", 1);
    for (const bool blocking : {true, false}) {
      if (way.direct && blocking) continue;  // direct.cpp does
      // Auto's choices depend on times that it measures, and so do the bytes it sends.
      sparsecollConfig_t config = config_of(kOktopk);
      config.blocking = way.blocking = blocking;
      const std::string called = blocking ? "blocking" : "queued";
      compare(verdict, config, "all verbs, " + called, [&](auto place, const RankContext& context) {
        all_verbs<decltype(place)>(context, way);
      });
      for (const Mode& mode :
           {kAllgather, kOktopk, kTopkA2A, kHierarchical, kSharded, kDense, kReuse}) {
        config = config_of(mode);
        config.blocking = blocking;
        compare(verdict, config, std::string(mode.name) + ", " + called,
                [&](auto place, const RankContext& context) {
                  dense<decltype(place), float>(context, mode, way);
                });
      }
      if (verdict.any_failed()) break;
    }
  }
  const int code = verdict.report("mpi_devices");
  MPI_Finalize();
  return code;
}
