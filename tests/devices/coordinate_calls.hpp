// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Calls of the verbs in coordinate form that the tests of single values and of blocks share.

#include <algorithm>

#include "devices/backends.hpp"
#include "support/data.hpp"
#include "support/sparse_data.hpp"

namespace sparsecoll::devices {

/// The shape of a vector: its number of blocks, and the values of a block.
struct VectorShape {
  std::size_t count;
  std::size_t block = 1;
};

/// Returns this rank's values of the given kind as entries.
template <class T>
oracle::Sparse<T> entries_of(test::SparseKind kind, const RankContext& context, std::uint64_t seed,
                             const VectorShape& shape) {
  return test::make_sparse_of_all<T>(kind, shape.count, context.P, seed,
                                     shape.block)[static_cast<std::size_t>(context.rank)];
}

/// Calls sparseAllreducev or gtopkAllreducev twice with a residual, and scatters the result.
template <class T>
struct Reduce {
  test::Verb verb;
  test::SparseKind kind;
  std::size_t k;
  VectorShape shape;
  bool count_on_device = false;
  std::size_t capacity = SPARSECOLL_ALL;  ///< of the output, at most the shape's count

  template <class Backend>
  void operator()(Backend, const RankContext& context) const {
    const typename Backend::Stream stream;
    const auto [count, block] = shape;
    test::Residual<T> residual(context.comm, count * block);
    typename Backend::template Array<T> dense(count * block);
    for (std::uint64_t call = 0; call < 2; ++call) {
      BackendSparse<Backend, T> send(count, entries_of<T>(kind, context, call + 1, shape), block);
      BackendSparse<Backend, T> recv(count, std::min(capacity, count), block);
      if (count_on_device) {
        send.count_on_device(send.get()->nnz);
        recv.count_on_device(0);
      }
      const auto function = verb == test::Verb::kGtopk ? gtopkAllreducev : sparseAllreducev;
      const bool fits = capacity >= count;
      context.done(function(send.get(), recv.get(), k, sparsecollAvg, residual.handle(),
                            context.comm, stream),
                   fits ? sparsecollSuccess : sparsecollTruncated);
      context.record.add(std::uint64_t{recv.get()->needed});
      context.record.add_stats(context.comm);
      BackendSparse<Backend, T> larger(count, recv.get()->needed, block);
      if (!fits) {
        context.expect(sparsecollFetch(larger.get(), nullptr, context.comm, stream));
        context.record.add(larger.entries(stream));
      }
      context.record.add(recv.entries(stream));
      context.record.add(residual.read());
      BackendSparse<Backend, T>& whole = fits ? recv : larger;
      context.done(sparsecollScatter(whole.get(), dense.get(), context.comm, stream));
      if (test::queued_run()) context.expect(sparsecollCommStreamWait(context.comm, stream));
      context.record.add(dense.read(stream));
    }
  }
};

/// Calls sparseAlltoall and sparseReduceScatter with outputs that are large enough or too small.
template <class T>
struct Exchange {
  VectorShape shape;
  std::size_t capacity;

  template <class Backend>
  void operator()(Backend, const RankContext& context) const {
    const typename Backend::Stream stream;
    const auto [count, block] = shape;
    const auto P = static_cast<std::size_t>(context.P);
    BackendSparse<Backend, T> send(
        count, entries_of<T>(test::SparseKind::kRandom, context, 9, shape), block);
    BackendSparse<Backend, T> recv(count, capacity, block);
    std::vector<std::size_t> counts(P), bounds(P + 1, count);
    for (std::size_t r = 0; r < P; ++r) bounds[r] = r * r * count / 90;  // the last is the largest
    auto done =
        sparseAlltoall(send.get(), recv.get(), counts.data(), bounds.data(), context.comm, stream);
    if (test::queued_run() && done == sparsecollSuccess)
      done = sparsecollCommSynchronize(context.comm);
    context.record.add(static_cast<std::uint64_t>(done));
    if (done == sparsecollTruncated) {
      BackendSparse<Backend, T> larger(count, recv.get()->needed, block);
      context.expect(sparsecollFetch(larger.get(), counts.data(), context.comm, stream));
      context.record.add(larger.entries(stream));
    } else {
      context.expect(done);
      context.record.add(recv.entries(stream));
    }
    for (const std::size_t each : counts) context.record.add(std::uint64_t{each});

    test::Residual<T> residual(context.comm, count * block);
    typename Backend::template Array<T> gradient(
        test::make_data<T>(test::Kind::kHeavyTail, count * block, context.rank, context.P, 4));
    BackendSparse<Backend, T> part(count, count, block);
    for (const std::size_t k : {std::size_t{25}, SPARSECOLL_ALL}) {
      context.done(sparseReduceScatter(gradient.get(), part.get(), count, k, test::kDatatype<T>,
                                       sparsecollSum, bounds.data(), residual.handle(),
                                       context.comm, stream));
      context.record.add(part.entries(stream));
      context.record.add(residual.read());
      context.record.add_stats(context.comm);
    }
  }
};

/// Adds integers, which is exact.
struct Integers {
  VectorShape shape;

  template <class Backend>
  void operator()(Backend, const RankContext& context) const {
    const typename Backend::Stream stream;
    BackendSparse<Backend, std::int64_t> send(
        shape.count, entries_of<std::int64_t>(test::SparseKind::kRandom, context, 3, shape),
        shape.block);
    BackendSparse<Backend, std::int64_t> recv(shape.count, shape.count, shape.block);
    context.done(sparseAllreducev(send.get(), recv.get(), SPARSECOLL_ALL, sparsecollSum, nullptr,
                                  context.comm, stream));
    context.record.add(recv.entries(stream));
  }
};

}  // namespace sparsecoll::devices
