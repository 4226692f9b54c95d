// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Device buffers over MPI, ranks sharing a device: every verb gives with them what it gives with
// the host's, bit for bit, residuals and wire traffic too. blocking = 1 and 0.

#include <chrono>
#include <cstdio>

#include "devices/places.hpp"
#include "mpi/verdict.hpp"
#include "support/data.hpp"
#include "support/hang_guard.hpp"
#include "support/push_sum.hpp"
#include "support/sparse_data.hpp"

namespace {

using namespace sparsecoll::test;
using namespace sparsecoll::devices;
namespace oracle = sparsecoll::oracle;

constexpr std::size_t kCount = 3000;
constexpr std::size_t kKept = 60;

void done(const Scene& scene, sparsecollResult_t got, bool blocking) {
  scene.expect(got);
  if (!blocking) scene.expect(sparsecollCommSynchronize(scene.comm));
}

/// Dense verbs with feedback, a few calls in a row.
template <class Place, class T>
void dense(const Scene& scene, const Mode& mode, bool blocking) {
  const typename Place::Stream stream;
  typename Place::template Array<T> x(kCount);
  const Residual<T> residual(scene.comm, kCount);
  for (std::uint64_t call = 0; call < 3; ++call) {
    x.put(make_data<T>(Kind::kHeavyTail, kCount, scene.rank, scene.P, call), stream);
    const auto verb = mode.verb == Verb::kGtopk ? gtopkAllreduce : sparseAllreduce;
    done(scene,
         verb(x.get(), x.get(), kCount, kKept, kDatatype<T>, sparsecollAvg, residual.handle(),
              scene.comm, stream),
         blocking);
    scene.record.add(x.read(stream));
    scene.record.add(residual.read());
    scene.record.add_stats(scene.comm);
  }
}

template <class Place>
void sparse(const Scene& scene, bool blocking) {
  const typename Place::Stream stream;
  const auto entries = make_sparse_of_all<float>(SparseKind::kHeavyTail, kCount, scene.P, 3);
  PlacedSparse<Place, float> send(kCount, entries[static_cast<std::size_t>(scene.rank)]);
  const auto room = kCount * static_cast<std::size_t>(scene.P);
  PlacedSparse<Place, float> sum(kCount, kCount), all(kCount, room);
  done(scene,
       sparseAllreducev(send.get(), sum.get(), SPARSECOLL_ALL, sparsecollSum, nullptr, scene.comm,
                        stream),
       blocking);
  scene.record.add(sum.entries(stream));
  std::vector<std::size_t> counts(static_cast<std::size_t>(scene.P));
  done(scene, sparseAlltoall(send.get(), all.get(), counts.data(), nullptr, scene.comm, stream),
       blocking);
  scene.record.add(all.entries(stream));
  for (const std::size_t each : counts) scene.record.add(std::uint64_t{each});
}

template <class Place>
void gossip(const Scene& scene, std::size_t k, bool blocking) {
  const typename Place::Stream stream;
  sparsecollPushSumConfig_t config = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;
  config.k = k;
  config.mixing = 0.5;
  const PushSum<float> state(scene.comm, kCount, config);
  typename Place::template Array<float> x(
      make_data<float>(Kind::kWideIntegers, kCount, scene.rank, scene.P, 8));
  for (int step = 0; step < 4; ++step)
    done(scene,
         pushSumStep(x.get(), nullptr, kCount, sparsecollFloat32, state.handle(), scene.comm,
                     stream),
         blocking);
  scene.record.add(x.read(stream));
  scene.record.add(std::vector<double>{state.weight()});
}

template <class Place>
void all_verbs(const Scene& scene, bool blocking) {
  dense<Place, float>(scene, kGtopk, blocking);
  dense<Place, oracle::Bfloat16>(scene, kGtopkPaper, blocking);
  dense<Place, float>(scene, kOktopk, blocking);
  dense<Place, double>(scene, kOktopk, blocking);
  sparse<Place>(scene, blocking);
  gossip<Place>(scene, 0, blocking);
  gossip<Place>(scene, 100, blocking);
}

template <class Run>
void compare(Verdict& verdict, const sparsecollConfig_t& config, const std::string& what,
             const Run& run) {
  const int rank = rank_in(MPI_COMM_WORLD), P = size_of(MPI_COMM_WORLD);
  // One for each place: calls of a shape start from what the last one left.
  const MpiCommunicator on_host(MPI_COMM_WORLD, config), on_device(MPI_COMM_WORLD, config);
  Record records[2];
  try {
    run(Host{}, Scene{on_host.get(), rank, P, records[0]});
    run(Gpu{}, Scene{on_device.get(), rank, P, records[1]});
    verdict.require(what, records[0].size() > 0 && records[0] == records[1]);
  } catch (const std::exception& error) {
    verdict.check(what, error.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0, devices = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    if (rank_in(MPI_COMM_WORLD) == 0) std::printf("skipped: there is no device\n");
    MPI_Finalize();
    return 77;
  }
  Verdict verdict;
  {
    const HangGuard guard("device buffers over MPI", 1, std::chrono::seconds(150));
    for (const bool blocking : {true, false}) {
      // Auto's choices depend on times that it measures, and so do the bytes it sends.
      sparsecollConfig_t config = config_of(kOktopk);
      config.blocking = blocking;
      const std::string way = blocking ? "blocking" : "queued";
      compare(verdict, config, "all verbs, " + way,
              [&](auto place, const Scene& scene) { all_verbs<decltype(place)>(scene, blocking); });
      for (const Mode& mode : {kAllgather, kOktopk, kTopkA2A, kHierarchical, kDense, kReuse}) {
        config = config_of(mode);
        config.blocking = blocking;
        compare(verdict, config, std::string(mode.name) + ", " + way,
                [&](auto place, const Scene& scene) {
                  dense<decltype(place), float>(scene, mode, blocking);
                });
      }
      if (verdict.any_failed()) break;
    }
  }
  const int code = verdict.report("mpi_devices");
  MPI_Finalize();
  return code;
}
