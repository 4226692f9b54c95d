// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Every verb over MPI with memory of a device and with the host's: the same, bit for bit.

#include "devices/backends.hpp"
#include "support/data.hpp"
#include "support/mpi_verdict.hpp"
#include "support/push_sum.hpp"
#include "support/sparse_data.hpp"

namespace sparsecoll::test {

using namespace sparsecoll::devices;

/// How it is called.
struct Way {
  bool blocking = true;
  std::size_t count = 3000;
  std::size_t kept = 60;
  /// Some messages do not pass through the host; they have no checksums, and are cut otherwise.
  bool direct = false;
};

inline void done(const Scene& scene, sparsecollResult_t got, const Way& way) {
  scene.expect(got);
  if (!way.blocking) scene.expect(sparsecollCommSynchronize(scene.comm));
}

/// Dense verbs with feedback, a few calls in a row.
template <class Backend, class T>
void dense(const Scene& scene, const Mode& mode, const Way& way) {
  const typename Backend::Stream stream;
  typename Backend::template Array<T> x(way.count);
  const Residual<T> residual(scene.comm, way.count);
  for (std::uint64_t call = 0; call < (way.direct ? 2 : 3); ++call) {
    x.put(make_data<T>(Kind::kHeavyTail, way.count, scene.rank, scene.P, call), stream);
    const auto verb = mode.verb == Verb::kGtopk ? gtopkAllreduce : sparseAllreduce;
    done(scene,
         verb(x.get(), x.get(), way.count, way.kept, kDatatype<T>, sparsecollAvg, residual.handle(),
              scene.comm, stream),
         way);
    scene.record.add(x.read(stream));
    scene.record.add(residual.read());
    if (!way.direct) scene.record.add_stats(scene.comm);
  }
}

/// So that P ranks send each other messages of more than 64 KiB in every verb.
inline Way direct_way(int P) {
  const auto ranks = static_cast<std::size_t>(P);
  return {true, 35000 * ranks, 17500 * ranks, true};
}

/// Where many are kept, every second or third index or so.
inline sparsecoll::oracle::Sparse<float> entries_of(const Scene& scene, const Way& way) {
  if (!way.direct)
    return make_sparse_of_all<float>(SparseKind::kHeavyTail, way.count, scene.P,
                                     3)[static_cast<std::size_t>(scene.rank)];
  sparsecoll::oracle::Sparse<float> entries;
  for (std::uint64_t i = 0; i < way.count; i += 1 + noise(5, i + scene.rank) % 3)
    entries.push_back({i, static_cast<float>(i % 100) - 50});
  return entries;
}

template <class Backend>
void sparse(const Scene& scene, const Way& way) {
  const typename Backend::Stream stream;
  BackendSparse<Backend, float> send(way.count, entries_of(scene, way));
  const auto room = way.count * static_cast<std::size_t>(scene.P);
  BackendSparse<Backend, float> sum(way.count, way.count), all(way.count, room);
  done(scene,
       sparseAllreducev(send.get(), sum.get(), SPARSECOLL_ALL, sparsecollSum, nullptr, scene.comm,
                        stream),
       way);
  scene.record.add(sum.entries(stream));
  std::vector<std::size_t> counts(static_cast<std::size_t>(scene.P));
  done(scene, sparseAlltoall(send.get(), all.get(), counts.data(), nullptr, scene.comm, stream),
       way);
  scene.record.add(all.entries(stream));
  for (const std::size_t each : counts) scene.record.add(std::uint64_t{each});
  typename Backend::template Array<float> gradient(
      make_data<float>(Kind::kHeavyTail, way.count, scene.rank, scene.P, 4));
  BackendSparse<Backend, float> part(way.count, way.count);
  done(scene,
       sparseReduceScatter(gradient.get(), part.get(), way.count, way.kept, sparsecollFloat32,
                           sparsecollSum, nullptr, nullptr, scene.comm, stream),
       way);
  scene.record.add(part.entries(stream));
}

template <class Backend>
void gossip(const Scene& scene, std::size_t k, const Way& way) {
  const typename Backend::Stream stream;
  sparsecollPushSumConfig_t config = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;
  config.k = k;
  config.mixing = 0.5;
  const PushSum<float> state(scene.comm, way.count, config);
  typename Backend::template Array<float> x(
      make_data<float>(Kind::kWideIntegers, way.count, scene.rank, scene.P, 8));
  for (int step = 0; step < 4; ++step)
    done(scene,
         pushSumStep(x.get(), nullptr, way.count, sparsecollFloat32, state.handle(), scene.comm,
                     stream),
         way);
  scene.record.add(x.read(stream));
  scene.record.add(std::vector<double>{state.weight()});
}

template <class Backend>
void all_verbs(const Scene& scene, const Way& way) {
  dense<Backend, float>(scene, kGtopk, way);
  dense<Backend, sparsecoll::oracle::Bfloat16>(scene, kGtopkPaper, way);
  dense<Backend, float>(scene, kOktopk, way);
  dense<Backend, double>(scene, kOktopk, way);
  sparse<Backend>(scene, way);
  if (way.direct) return;  // gossip is not
  gossip<Backend>(scene, 0, way);
  gossip<Backend>(scene, 100, way);
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

}  // namespace sparsecoll::test
