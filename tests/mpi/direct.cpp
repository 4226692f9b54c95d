// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests messages that a CUDA-aware MPI moves from device to device (aware_mpi.hpp): which messages
// of each verb move so, and that results equal those with host memory. Some ranks use host memory,
// some communicators are children of others, and some devices are not the current one.

#include <chrono>

#include "mpi/aware_mpi.hpp"
#include "mpi/device_verbs.hpp"
#include "simt/engine.hpp"
#include "support/deviations.hpp"
#include "support/hang_guard.hpp"
#include "support/variable.hpp"

namespace {

using namespace sparsecoll::test;

constexpr const char* kVariable = "SPARSECOLL_CUDA_AWARE";
/// Returns a way to call verbs with large messages.
Way large() { return direct_way(size_of(MPI_COMM_WORLD)); }
constexpr Way kSmall{true, 3000, 60, true};
constexpr std::size_t kStaged = 65536;  // larger messages are not

/// Returns how many bytes `run` copied from and to devices on this rank.
template <class Run>
aware::Moved moved_by(const Run& run) {
  const aware::Moved before = aware::moved();
  run();
  aware::Moved all = aware::moved();
  all.sent -= before.sent;
  all.received -= before.received;
  all.bytes_sent -= before.bytes_sent;
  all.bytes_received -= before.bytes_received;
  return all;
}

/// Makes a call with device memory and with host memory, and checks whether large messages of this
/// rank went from and to the device.
template <class Run>
void check_moved(Verdict& verdict, const Mode& mode, const std::string& what, const Run& run) {
  const aware::Moved all = moved_by([&] { compare(verdict, config_of(mode), what, run); });
  if (size_of(MPI_COMM_WORLD) == 1) return;
  verdict.require(what + ": sent from a device", all.bytes_sent > kStaged);
  verdict.require(what + ": received on a device", all.bytes_received > kStaged);
}

void check_verbs(Verdict& verdict) {
  for (const Mode& mode :
       {kAllgather, kOktopk, kTopkA2A, kHierarchical, kSharded, kDense, kReuse, kGtopk})
    check_moved(verdict, mode, mode.name, [&](auto place, const RankContext& context) {
      dense<decltype(place), float>(context, mode, large());
    });
  check_moved(verdict, kOktopk, "coordinate form", [](auto place, const RankContext& context) {
    sparse<decltype(place)>(context, large());
  });
  const aware::Moved gossiped = moved_by([&] {
    compare(verdict, config_of(kOktopk), "push-sum", [](auto place, const RankContext& context) {
      gossip<decltype(place)>(context, 0, large());
    });
  });
  verdict.require("push-sum goes through the host", gossiped.sent + gossiped.received == 0);
}

/// Checks that large messages bypass the host.
void check_bytes(Verdict& verdict) {
  const MpiCommunicator comm(MPI_COMM_WORLD, config_of(kGtopk));
  const int rank = rank_in(MPI_COMM_WORLD), P = size_of(MPI_COMM_WORLD);
  DeviceArray<float> x(make_data<float>(Kind::kHeavyTail, large().count, rank, P, 1));
  sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
  const aware::Moved all = moved_by([&] {
    verdict.check("gtopk", expect("gtopk",
                                  gtopkAllreduce(x.get(), x.get(), large().count, large().kept,
                                                 sparsecollFloat32, sparsecollSum, nullptr,
                                                 comm.get(), nullptr),
                                  sparsecollSuccess, comm.get()));
    sparsecollCommGetStats(comm.get(), sparsecollStatsLast, &stats);
  });
  verdict.require("headers alone come to the host, gtopk",
                  stats.bytesReceived - all.bytes_received <= 64 * 8);
  verdict.require("headers alone leave from the host, gtopk",
                  stats.bytesSent - all.bytes_sent <= 64 * 8);
}

/// Checks who decides whether MPI accepts device memory.
void check_choice(Verdict& verdict) {
  const auto run = [&] {
    const MpiCommunicator comm(MPI_COMM_WORLD, config_of(kGtopk));
    DeviceArray<float> x(large().count);
    verdict.check("gtopk", expect("gtopk",
                                  gtopkAllreduce(x.get(), x.get(), large().count, large().kept,
                                                 sparsecollFloat32, sparsecollSum, nullptr,
                                                 comm.get(), nullptr),
                                  sparsecollSuccess, comm.get()));
  };
  const bool alone = size_of(MPI_COMM_WORLD) == 1;
  aware::says(false);
  verdict.require("MPI says no", moved_by(run).sent == 0);
  {
    const Variable variable(kVariable, "1");
    verdict.require("the variable says yes", alone || moved_by(run).sent > 0);
  }
  aware::says(true);
  verdict.require("MPI says yes", alone || moved_by(run).sent > 0);
  for (const std::string value : {"0", "auto"}) {
    const Variable variable(kVariable, value);
    verdict.require("the variable says " + value,
                    alone || (moved_by(run).sent > 0) == (value == "auto"));
  }
  const Variable variable(kVariable, "yes");
  sparsecollComm_t comm = nullptr;
  const sparsecollConfig_t config = default_config();
  verdict.require("a bad value", sparsecollCommInitMpi(&comm, MPI_COMM_WORLD, &config) ==
                                     sparsecollInvalidArgument);
  verdict.require("a bad value is named",
                  has_word(sparsecollGetLastError(nullptr), "SPARSECOLL_CUDA_AWARE"));
}

/// On every second rank MPI accepts host memory only.
void check_different_ranks(Verdict& verdict) {
  const Variable variable(kVariable, rank_in(MPI_COMM_WORLD) % 2 == 0 ? "1" : "0");
  for (const Mode& mode : {kAllgather, kOktopk, kGtopk})
    compare(verdict, config_of(mode), std::string("different ranks, ") + mode.name,
            [&](auto place, const RankContext& context) {
              dense<decltype(place), float>(context, mode, large());
            });
}

void check_small(Verdict& verdict) {
  const aware::Moved all = moved_by([&] {
    compare(verdict, config_of(kOktopk), "small", [](auto place, const RankContext& context) {
      dense<decltype(place), float>(context, kOktopk, kSmall);
      sparse<decltype(place)>(context, kSmall);
    });
  });
  verdict.require("small messages are staged", all.sent + all.received == 0);
}

/// Members of a group share messages, which are put together on the host.
template <class Backend>
void group(const RankContext& context) {
  const typename Backend::Stream stream;
  std::vector<typename Backend::template Array<float>> x;
  for (int t = 0; t < 2; ++t)
    x.emplace_back(make_data<float>(Kind::kHeavyTail, large().count, context.rank, context.P, t));
  context.expect(sparsecollGroupStart(context.comm));
  for (auto& each : x)
    context.expect(sparseAllreduce(each.get(), each.get(), large().count, large().kept,
                                   sparsecollFloat32, sparsecollSum, nullptr, context.comm,
                                   stream));
  context.expect(sparsecollGroupEnd(context.comm));
  for (auto& each : x) context.record.add(each.read(stream));
}

void check_group(Verdict& verdict) {
  const aware::Moved all = moved_by([&] {
    compare(verdict, config_of(kOktopk), "a group",
            [](auto place, const RankContext& context) { group<decltype(place)>(context); });
  });
  verdict.require("a group goes through the host", all.sent + all.received == 0);
}

/// Checks that a child communicator does the same as its parent.
void check_part(Verdict& verdict) {
  const int rank = rank_in(MPI_COMM_WORLD);
  const aware::Moved all = moved_by([&] {
    compare(verdict, config_of(kOktopk), "a part", [&](auto place, const RankContext& context) {
      sparsecollComm_t part = nullptr;
      context.expect(sparsecollCommSplit(context.comm, rank / 2, -rank, &part, nullptr));
      int own = 0, size = 0;
      sparsecollCommRank(part, &own);
      sparsecollCommCount(part, &size);
      dense<decltype(place), float>({part, own, size, context.record}, kGtopk, large());
      context.expect(sparsecollCommDestroy(part));
    });
  });
  const bool alone = size_of(MPI_COMM_WORLD) % 2 == 1 && rank + 1 == size_of(MPI_COMM_WORLD);
  verdict.require("a part moves from devices", alone || (all.sent > 0 && all.received > 0));
}

/// Makes calls with device and host memory while another device is current. The library must make
/// the communicator's device current before it calls MPI, which aware_mpi.hpp checks.
void check_other_device(Verdict& verdict) {
  cudaSetDevice(1);
  const aware::Moved all = moved_by([&] {
    sparsecollConfig_t config = config_of(kOktopk);
    config.device = 1;
    const MpiCommunicator comm(MPI_COMM_WORLD, config);
    const int rank = rank_in(MPI_COMM_WORLD), P = size_of(MPI_COMM_WORLD);
    DeviceArray<float> x(make_data<float>(Kind::kHeavyTail, large().count, rank, P, 1));
    HostArray<float> y(x.read());
    cudaSetDevice(0);
    for (float* const at : {x.get(), y.get(), x.get(), y.get()})
      verdict.check("another device",
                    expect("sparseAllreduce",
                           sparseAllreduce(at, at, large().count, large().kept, sparsecollFloat32,
                                           sparsecollSum, nullptr, comm.get(), nullptr),
                           sparsecollSuccess, comm.get()));
    int current = -1;
    cudaGetDevice(&current);
    verdict.require("the current device is as before", current == 0);
    cudaSetDevice(1);
    verdict.require("the same with another device", x.read() == y.read());
  });
  verdict.require("moved on another device", all.sent > 0 || size_of(MPI_COMM_WORLD) == 1);
  cudaSetDevice(0);
}

/// Checks that calls of a shape soon allocate nothing, if no rank is a call ahead. There is no
/// spare memory for large messages that arrive early.
void check_steady(Verdict& verdict) {
  const MpiCommunicator comm(MPI_COMM_WORLD, config_of(kOktopk));
  const int rank = rank_in(MPI_COMM_WORLD), P = size_of(MPI_COMM_WORLD);
  DeviceArray<float> x(make_data<float>(Kind::kHeavyTail, large().count, rank, P, 1));
  DeviceArray<float> y(large().count);
  std::size_t before = 0;
  for (int call = 0; call < 12; ++call) {
    if (call == 6) before = simt::allocations();
    MPI_Barrier(MPI_COMM_WORLD);
    sparseAllreduce(x.get(), y.get(), large().count, large().kept, sparsecollFloat32, sparsecollSum,
                    nullptr, comm.get(), nullptr);
  }
  verdict.require("memory in a steady state", simt::allocations() == before);
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  Verdict verdict;
  {
    const HangGuard guard("messages between devices", 1);
    for (const auto check :
         {check_verbs, check_bytes, check_choice, check_different_ranks, check_small, check_group,
          check_part, check_other_device, check_steady}) {
      check(verdict);
      if (verdict.any_failed()) break;
    }
  }
  const int code = verdict.report("mpi_direct");
  MPI_Finalize();
  return code;
}
