// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Compares every verb of the C++ header with plain sums. The data make the results unique:
// integers, and k so large, or so chosen, that all ranks select the same entries.

#include <algorithm>
#include <array>

#include "cxx/team.hpp"

namespace sparsecoll::test {
namespace {

constexpr std::size_t kCount = 24;

/// Returns the values of rank r: 100 (r + 1) at multiples of 5, small values elsewhere.
template <class T>
std::vector<T> data_of(int rank) {
  std::vector<T> data(kCount);
  for (std::size_t i = 0; i < kCount; ++i)
    data[i] = i % 5 == 0 ? static_cast<T>(100 * (rank + 1)) : static_cast<T>(i % 3);
  return data;
}

template <class T>
std::vector<T> sum_of(int P) {
  std::vector<T> sum(kCount);
  for (int r = 0; r < P; ++r)
    for (std::size_t i = 0; i < kCount; ++i) sum[i] += data_of<T>(r)[i];
  return sum;
}

/// Returns x with zeros except at multiples of 5, which k = 5 selects; with `wanted` = false, the
/// other part.
template <class T>
std::vector<T> large(std::vector<T> x, bool wanted = true) {
  for (std::size_t i = 0; i < x.size(); ++i)
    if ((i % 5 == 0) != wanted) x[i] = 0;
  return x;
}

/// Returns the non-zero entries of x.
template <class T, class Index>
SparseVector<T, Index> sparse(const std::vector<T>& x) {
  SparseVector<T, Index> out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    if (x[i] != T{}) out.push_back(static_cast<Index>(i), x[i]);
  return out;
}

template <class T, class Index>
std::string equal(const std::string& what, const SparseVector<T, Index>& got,
                  const SparseVector<T, Index>& want) {
  const auto all = [](const auto& span) { return std::vector(span.begin(), span.end()); };
  return unless(got.count() == want.count(), what + ".count") +
         unless(all(got.indices()) == all(want.indices()), what + ".indices") +
         unless(all(got.values()) == all(want.values()), what + ".values");
}

TEMPLATE_TEST_CASE("dense verbs of the C++ header give the sums", "", float, double) {
  for (int P = 1; P <= 4; ++P) {
    CHECK(with_team(P, quick_config(), [P](Communicator& comm) {
            using T = TestType;
            const std::vector<T> send = data_of<T>(comm.rank());
            std::vector<T> recv(kCount);
            Residual<T> residual(comm, kCount), other(comm, kCount);
            std::string wrong;
            comm.sparseAllreduce(send, recv, kCount);
            wrong += same<T>("the full sum", recv, sum_of<T>(P));
            comm.sparseAllreduce(send, recv, 5, sparsecollSum, &residual);
            wrong += same<T>("the sum", recv, large(sum_of<T>(P)));
            wrong += same<T>("the residual", residual.read(), large(send, false));
            comm.gtopkAllreduce(send, recv, 5, sparsecollSum, &other);
            wrong += same<T>("the tree's sum", recv, large(sum_of<T>(P)));
            wrong += same<T>("the tree's residual", other.read(), large(send, false));
            // The mean in place, of an array and of a view.
            std::array<T, 2> pair{static_cast<T>(comm.rank()), T{1}};
            comm.sparseAllreduce(pair, pair, 2, sparsecollAvg);
            wrong += same<T>("the mean", pair, {static_cast<T>(P - 1) / 2, T{1}});
            comm.gtopkAllreduce(Span<const T>(pair.data(), 1), Span<T>(pair.data(), 1), 1);
            wrong += same<T>("the sum of a view", pair,
                             {static_cast<T>(P) * static_cast<T>(P - 1) / 2, T{1}});
            return wrong;
          }) == "");
  }
}

TEMPLATE_TEST_CASE("verbs in coordinate form grow their output", "", std::uint32_t, std::uint64_t) {
  using Vector = SparseVector<float, TestType>;
  for (int P = 1; P <= 4; ++P) {
    CHECK(with_team(P, quick_config(), [P](Communicator& comm) {
            const std::vector<float> mine = data_of<float>(comm.rank());
            const Vector send = sparse<float, TestType>(mine);
            std::string wrong;
            Residual<float> residual(comm, kCount);
            Vector all, some, tree, out;
            comm.sparseAllreducev(send, all, kAll);
            wrong += equal("the full sum", all, sparse<float, TestType>(sum_of<float>(P)));
            wrong += unless(all.needed() == all.nnz() && all.capacity() >= all.nnz(), "needed");
            comm.sparseAllreducev(send, some, 5, sparsecollAvg, &residual);
            comm.gtopkAllreducev(send, tree, 5, sparsecollAvg);
            std::vector<float> mean = large(sum_of<float>(P));
            for (float& value : mean) value /= static_cast<float>(P);
            wrong += equal("the mean", some, sparse<float, TestType>(mean));
            wrong += equal("the tree's mean", tree, sparse<float, TestType>(mean));
            wrong += same<float>("the residual", residual.read(), large(mine, false));
            // topk() with a zero vector selects what is left in the residual.
            comm.topk(std::vector<float>(kCount), kCount, out, &residual);
            wrong += equal("top-k", out, sparse<float, TestType>(large(mine, false)));
            std::vector<float> dense(kCount, 7.0f);
            comm.scatter(out, dense);
            wrong += same<float>("the scattered", dense, large(mine, false));
            std::vector<float> upper(kCount, 7.0f);
            comm.scatterAt(out, upper, 0);
            wrong += same<float>("the region", upper, dense);
            wrong += throws(sparsecollInvalidArgument, "sparsecollScatterAt",
                            [&] { comm.scatterAt(out, upper, 1); });
            comm.measure();
            return wrong;
          }) == "");
  }
}

TEST_CASE("sparseReduceScatter and sparseAlltoall of the C++ header") {
  using Vector = SparseVector<float>;
  for (int P = 1; P <= 4; ++P) {
    CHECK(with_team(P, quick_config(), [P](Communicator& comm) {
            const auto rank = static_cast<std::size_t>(comm.rank());
            // The last rank owns everything but the first index.
            std::vector<std::size_t> bounds(static_cast<std::size_t>(P) + 1, 1);
            bounds.front() = 0;
            bounds.back() = kCount;
            const auto owned = [&](std::vector<float> x, bool equally) {
              const std::size_t p = static_cast<std::size_t>(P);
              const std::size_t from = equally ? rank * kCount / p : bounds[rank];
              const std::size_t to = equally ? (rank + 1) * kCount / p : bounds[rank + 1];
              for (std::size_t i = 0; i < x.size(); ++i)
                if (i < from || i >= to) x[i] = 0;
              return x;
            };
            const std::vector<float> mine = data_of<float>(comm.rank());
            std::string wrong;
            Residual<float> residual(comm, kCount);
            Vector part, sum;
            comm.sparseReduceScatter(mine, part, 5, sparsecollSum, {}, &residual);
            wrong += equal("the part", part,
                           sparse<float, std::uint32_t>(owned(large(sum_of<float>(P)), true)));
            wrong += same<float>("the residual", residual.read(), large(mine, false));
            comm.sparseReduceScatter(mine, sum, 5, sparsecollSum, bounds);
            wrong += equal("the other part", sum,
                           sparse<float, std::uint32_t>(owned(large(sum_of<float>(P)), false)));

            for (const bool equally : {true, false}) {
              Vector arrived, want(kCount);
              std::vector<std::size_t> counts(static_cast<std::size_t>(P)), want_counts;
              comm.sparseAlltoall(sparse<float, std::uint32_t>(mine), arrived, counts,
                                  equally ? Span<const std::size_t>() : bounds);
              std::vector<std::uint32_t> indices;
              std::vector<float> values;
              for (int r = 0; r < P; ++r) {
                const Vector from = sparse<float, std::uint32_t>(owned(data_of<float>(r), equally));
                indices.insert(indices.end(), from.indices().begin(), from.indices().end());
                values.insert(values.end(), from.values().begin(), from.values().end());
                want_counts.push_back(from.nnz());
              }
              wrong += equal("what arrived", arrived, Vector(kCount, indices, values));
              wrong += same<std::size_t>("recvcounts", counts, want_counts);
            }
            return wrong;
          }) == "");
  }
}

TEST_CASE("an output of another size is refused on all ranks, and no rank waits") {
  for (int P = 1; P <= 3; ++P) {
    CHECK(with_team(P, quick_config(), [P](Communicator& comm) {
            const bool bad = comm.rank() == P - 1;
            const std::vector<float> send(10, 1.0f);
            std::vector<float> recv(10, 7.0f), wrong_size(bad ? 9 : 10, 7.0f), none;
            SparseVector<float> entries(10, {2}, {1.0f}), out(0, 4);
            std::vector<std::size_t> counts(static_cast<std::size_t>(bad ? P + 1 : P));
            const std::vector<std::size_t> bounds(1);  // too few; the library must not read beyond
            const auto matches = [&](const char* words, const char* others, auto call) {
              return throws(bad ? sparsecollInvalidArgument : sparsecollInvalidUsage,
                            bad ? words : others, call);
            };
            const auto answer = [&](const char* words, auto call) {
              return matches(words, "rank", call);
            };
            std::string wrong;
            wrong += matches("recv: expected 10 elements, got 9",
                             "recvbuff: expected 10 values, got NULL",
                             [&] { comm.sparseAllreduce(send, wrong_size, 3); });
            wrong += matches("recv: expected 10 elements, got 9",
                             "recvbuff: expected 10 values, got NULL",
                             [&] { comm.gtopkAllreduce(send, wrong_size, 3); });
            wrong += answer("recv: expected 0 elements, got 10",
                            [&] { comm.sparseAllreduce(bad ? none : send, recv, 3); });
            wrong +=
                answer("recvcounts: expected", [&] { comm.sparseAlltoall(entries, out, counts); });
            wrong += answer("bounds: expected", [&] {
              comm.sparseReduceScatter(
                  send, out, 3, sparsecollSum,
                  bad ? Span<const std::size_t>(bounds) : Span<const std::size_t>());
            });
            wrong += same<float>("an untouched output", recv, std::vector<float>(10, 7.0f));
            std::vector<std::size_t> cleared(16, 99);  // empty, but its data() is not NULL
            cleared.clear();
            comm.sparseAlltoall(entries, out, cleared, cleared);
            comm.sparseReduceScatter(send, out, 3, sparsecollSum, cleared);
            comm.sparseAllreduce(send, recv, 10);
            wrong += same<float>("the sum", recv, std::vector<float>(10, static_cast<float>(P)));
            return wrong;
          }) == "");
  }
}

TEST_CASE("results of queued calls that did not fit can be fetched after a wait") {
  Config config = quick_config();
  config.blocking = 0;
  for (int P = 1; P <= 3; ++P) {
    CHECK(with_team(P, config, [P](Communicator& comm) {
            const std::vector<float> mine = data_of<float>(comm.rank());
            const SparseVector<float> send = sparse<float, std::uint32_t>(mine);
            SparseVector<float> recv;
            std::vector<float> dense(kCount);
            comm.sparseAllreduce(mine, dense, kCount);
            const std::uint64_t first = comm.sequence();
            comm.sparseAllreducev(send, recv, kAll);
            comm.wait(first);
            comm.streamWait(nullptr);
            std::string wrong = same<float>("the first", dense, sum_of<float>(P));
            try {
              comm.synchronize();
              wrong += "nothing was truncated; ";
            } catch (const Truncated& truncated) {
              wrong += unless(truncated.code() == sparsecollTruncated, "the code");
            }
            comm.fetch(recv);
            wrong += equal("the fetched", recv, sparse<float, std::uint32_t>(sum_of<float>(P)));
            wrong += unless(comm.asyncError() == sparsecollSuccess, "asyncError");
            return wrong;
          }) == "");
  }
}

TEST_CASE("futures and notifications of the C++ header") {
  for (const int blocking : {1, 0}) {
    Config config = quick_config();
    config.blocking = blocking;
    CHECK(with_team(2, config, [&](Communicator& comm) {
            std::vector<float> mine = data_of<float>(comm.rank()), sum(kCount), other(kCount);
            comm.sparseAllreduce(mine, sum, kCount);
            std::future<void> future = comm.future(comm.sequence());
            auto token = std::make_unique<int>(7);  // so that the function cannot be copied
            std::promise<int> heard;
            std::future<int> hears = heard.get_future();
            comm.notify(comm.sequence(), [token = std::move(token), &heard](auto result) {
              heard.set_value(result == sparsecollSuccess ? *token : 0);
            });
            future.get();
            std::string wrong = same<float>("the sum", sum, sum_of<float>(2));
            wrong += unless(hears.get() == 7, "the notification");
            const std::size_t k = comm.rank() == 0 ? 3 : 4;
            if (blocking == 0) {
              comm.sparseAllreduce(mine, other, k);
              wrong += throws(sparsecollInvalidUsage, "InvalidUsage",
                              [&] { comm.future(comm.sequence()).get(); });
              wrong += throws(sparsecollInvalidUsage, "passed 4", [&] { comm.synchronize(); });
            }
            wrong += throws(sparsecollInvalidArgument, "sparsecollCommNotify",
                            [&] { comm.future(comm.sequence() + 1); });
            const auto thrower = [&] {
              comm.notify(comm.sequence(), [](auto) { throw std::runtime_error("mine"); });
              comm.synchronize();
            };
            return wrong + throws(sparsecollInvalidUsage, "mine", thrower);
          }) == "");
  }
}

TEST_CASE("verbs of the C++ header pass their stream on: one with host buffers is refused") {
  CHECK(with_team(1, quick_config(), [](Communicator& comm) {
          const auto stream = reinterpret_cast<sparsecollStream_t>(std::uintptr_t{16});
          std::vector<float> x(kCount, 1.0f);
          SparseVector<float> in(kCount), out(kCount);
          in.push_back(3, 1.0f);
          PushSum<float> state(comm, kCount);
          std::string wrong;
          const auto refused = [&](auto call) {
            wrong += throws(sparsecollInvalidArgument, "stream", call);
          };
          refused([&] { comm.sparseAllreduce(x, x, 1, sparsecollSum, nullptr, stream); });
          refused([&] { comm.gtopkAllreduce(x, x, 1, sparsecollSum, nullptr, stream); });
          refused([&] { comm.sparseAllreducev(in, out, 1, sparsecollSum, nullptr, stream); });
          refused([&] { comm.gtopkAllreducev(in, out, 1, sparsecollSum, nullptr, stream); });
          refused([&] { comm.sparseReduceScatter(x, out, 1, sparsecollSum, {}, nullptr, stream); });
          refused([&] { comm.sparseAlltoall(in, out, {}, {}, stream); });
          refused([&] { comm.topk(x, 1, out, nullptr, stream); });
          refused([&] { comm.scatter(in, x, stream); });
          refused([&] { comm.scatterAt(in, x, 0, stream); });
          refused([&] { state.step(x, stream); });
          refused([&] { state.step(x, std::vector<float>(kCount), stream); });
          refused([&] { state.drain(x, stream); });
          refused([&] { state.drain(x, std::vector<float>(kCount), stream); });
          return wrong;
        }) == "");
}

}  // namespace
}  // namespace sparsecoll::test
