// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tests every verb over MPI with device memory and with host memory. The results have the same
// bits.

#include "devices/backends.hpp"
#include "support/data.hpp"
#include "support/mpi_verdict.hpp"
#include "support/push_sum.hpp"
#include "support/sparse_data.hpp"

namespace sparsecoll::test {

using namespace sparsecoll::devices;

/// How the verbs are called.
struct Way {
  bool blocking = true;
  std::size_t count = 3000;
  std::size_t kept = 60;
  /// Some messages bypass the host. They have no checksums, and their regions differ.
  bool direct = false;
};

inline void done(const RankContext& context, sparsecollResult_t got, const Way& way) {
  context.expect(got);
  if (!way.blocking) context.expect(sparsecollCommSynchronize(context.comm));
}

/// Makes a few calls of the dense verbs in a row, with feedback.
template <class Backend, class T>
void dense(const RankContext& context, const Mode& mode, const Way& way) {
  const typename Backend::Stream stream;
  typename Backend::template Array<T> x(way.count);
  const Residual<T> residual(context.comm, way.count);
  for (std::uint64_t call = 0; call < (way.direct ? 2 : 3); ++call) {
    x.put(make_data<T>(Kind::kHeavyTail, way.count, context.rank, context.P, call), stream);
    const auto verb = mode.verb == Verb::kGtopk ? gtopkAllreduce : sparseAllreduce;
    done(context,
         verb(x.get(), x.get(), way.count, way.kept, kDatatype<T>, sparsecollAvg, residual.handle(),
              context.comm, stream),
         way);
    context.record.add(x.read(stream));
    context.record.add(residual.read());
    if (!way.direct) context.record.add_stats(context.comm);
  }
}

/// With so many entries, P ranks send each other messages of more than 64 KiB in every verb.
inline Way direct_way(int P) {
  const auto ranks = static_cast<std::size_t>(P);
  return {true, 35000 * ranks, 17500 * ranks, true};
}

/// With a large k, entries are at about every second or third index.
inline sparsecoll::oracle::Sparse<float> entries_of(const RankContext& context, const Way& way) {
  if (!way.direct)
    return make_sparse_of_all<float>(SparseKind::kHeavyTail, way.count, context.P,
                                     3)[static_cast<std::size_t>(context.rank)];
  sparsecoll::oracle::Sparse<float> entries;
  for (std::uint64_t i = 0; i < way.count; i += 1 + noise(5, i + context.rank) % 3)
    entries.push_back({i, static_cast<float>(i % 100) - 50});
  return entries;
}

template <class Backend>
void sparse(const RankContext& context, const Way& way) {
  const typename Backend::Stream stream;
  BackendSparse<Backend, float> send(way.count, entries_of(context, way));
  const auto room = way.count * static_cast<std::size_t>(context.P);
  BackendSparse<Backend, float> sum(way.count, way.count), all(way.count, room);
  done(context,
       sparseAllreducev(send.get(), sum.get(), SPARSECOLL_ALL, sparsecollSum, nullptr, context.comm,
                        stream),
       way);
  context.record.add(sum.entries(stream));
  std::vector<std::size_t> counts(static_cast<std::size_t>(context.P));
  done(context, sparseAlltoall(send.get(), all.get(), counts.data(), nullptr, context.comm, stream),
       way);
  context.record.add(all.entries(stream));
  for (const std::size_t each : counts) context.record.add(std::uint64_t{each});
  typename Backend::template Array<float> gradient(
      make_data<float>(Kind::kHeavyTail, way.count, context.rank, context.P, 4));
  BackendSparse<Backend, float> part(way.count, way.count);
  done(context,
       sparseReduceScatter(gradient.get(), part.get(), way.count, way.kept, sparsecollFloat32,
                           sparsecollSum, nullptr, nullptr, context.comm, stream),
       way);
  context.record.add(part.entries(stream));
}

template <class Backend>
void gossip(const RankContext& context, std::size_t k, const Way& way) {
  const typename Backend::Stream stream;
  sparsecollPushSumConfig_t config = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;
  config.k = k;
  config.mixing = 0.5;
  const PushSum<float> state(context.comm, way.count, config);
  typename Backend::template Array<float> x(
      make_data<float>(Kind::kWideIntegers, way.count, context.rank, context.P, 8));
  for (int step = 0; step < 4; ++step)
    done(context,
         pushSumStep(x.get(), nullptr, way.count, sparsecollFloat32, state.handle(), context.comm,
                     stream),
         way);
  context.record.add(x.read(stream));
  context.record.add(std::vector<double>{state.weight()});
}

template <class Backend>
void all_verbs(const RankContext& context, const Way& way) {
  dense<Backend, float>(context, kGtopk, way);
  dense<Backend, sparsecoll::oracle::Bfloat16>(context, kGtopkPaper, way);
  dense<Backend, float>(context, kOktopk, way);
  dense<Backend, double>(context, kOktopk, way);
  sparse<Backend>(context, way);
  if (way.direct) return;  // gossip is not
  gossip<Backend>(context, 0, way);
  gossip<Backend>(context, 100, way);
}

template <class Run>
void compare(Verdict& verdict, const sparsecollConfig_t& config, const std::string& what,
             const Run& run) {
  const int rank = rank_in(MPI_COMM_WORLD), P = size_of(MPI_COMM_WORLD);
  // One communicator for each backend, because calls of a shape start from the cache of the last
  // one.
  const MpiCommunicator on_host(MPI_COMM_WORLD, config), on_device(MPI_COMM_WORLD, config);
  Record records[2];
  try {
    run(Host{}, RankContext{on_host.get(), rank, P, records[0]});
    run(Gpu{}, RankContext{on_device.get(), rank, P, records[1]});
    verdict.require(what, records[0].size() > 0 && records[0] == records[1]);
  } catch (const std::exception& error) {
    verdict.check(what, error.what());
  }
}

}  // namespace sparsecoll::test
