// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of types other than float and double: 16-bit types of the program, and integers.

#include "cxx/team.hpp"

namespace {

/// Two 16-bit types as a program might define them.
struct Half {
  std::uint16_t bits;
  friend bool operator==(Half a, Half b) { return a.bits == b.bits; }
};
struct Brain {
  std::uint16_t bits;
  friend bool operator==(Brain a, Brain b) { return a.bits == b.bits; }
};

}  // namespace

template <>
struct sparsecoll::DatatypeOf<Half> {
  static constexpr sparsecollDataType_t value = sparsecollFloat16;
};
template <>
struct sparsecoll::DatatypeOf<Brain> {
  static constexpr sparsecollDataType_t value = sparsecollBfloat16;
};

namespace sparsecoll::test {
namespace {

static_assert(std::is_same_v<Accumulation<Half>, float>);
static_assert(std::is_same_v<Accumulation<Brain>, float>);
static_assert(std::is_same_v<Accumulation<double>, double>);
static_assert(DatatypeOf<long long>::value == sparsecollInt64);

TEMPLATE_TEST_CASE("16-bit types that the program defines", "", Half, Brain) {
  using T = TestType;
  const bool half = std::is_same_v<T, Half>;
  const T ones[] = {{0x0000},  // the values 0 to 4
                    {static_cast<std::uint16_t>(half ? 0x3c00 : 0x3f80)},
                    {static_cast<std::uint16_t>(half ? 0x4000 : 0x4000)},
                    {static_cast<std::uint16_t>(half ? 0x4200 : 0x4040)},
                    {static_cast<std::uint16_t>(half ? 0x4400 : 0x4080)}};
  for (int P = 1; P <= 4; ++P) {
    CHECK(with_team(P, quick_config(), [&](Communicator& comm) {
            const T zero = ones[0], one = ones[1], sum = ones[P];
            const std::vector<T> send{one, zero, one};
            std::vector<T> recv(3, ones[4]);
            Residual<T> residual(comm, 3);
            comm.sparseAllreduce(send, recv, 1, sparsecollSum, &residual);
            std::string wrong = same<T>("the sum", recv, {sum, zero, zero});
            wrong += same<float>("the residual", residual.read(), {0, 0, 1});
            SparseVector<T> all;
            comm.sparseAllreducev(SparseVector<T>(9, {4}, {one}), all, kAll);
            wrong += same<T>("the sum of entries", Span<const T>(all.values()), {sum});
            return wrong;
          }) == "");
  }
}

TEST_CASE("blocks are added and scattered") {
  for (int P = 1; P <= 4; ++P) {
    CHECK(with_team(P, quick_config(), [&](Communicator& comm) {
            const auto rank = static_cast<std::uint32_t>(comm.rank());
            auto send = SparseVector<float>::of_blocks(3, 9),
                 sum = SparseVector<float>::of_blocks(3, 0);
            send.push_back(rank, std::vector<float>{1, 2, 3});
            send.push_back(8, std::vector<float>{4, 5, static_cast<float>(rank)});
            comm.sparseAllreducev(send, sum, kAll);
            std::vector<float> want, dense(27), part(3);
            for (int r = 0; r < P; ++r) want.insert(want.end(), {1, 2, 3});
            const auto p = static_cast<float>(P);
            want.insert(want.end(), {4 * p, 5 * p, p * (p - 1) / 2});
            std::string wrong = same<float>("the sum", Span<const float>(sum.values()), want);
            comm.scatter(sum, dense);
            wrong += same<float>("dense", std::vector<float>(dense.end() - 3, dense.end()),
                                 std::vector<float>(want.end() - 3, want.end()));
            comm.scatterAt(SparseVector<float>(9, {8}, {7, 8, 9}, 3), part, 8);
            wrong += same<float>("a region", part, {7, 8, 9});
            wrong += throws(sparsecollInvalidArgument, "expected 3 values, got 1",
                            [&] { send.push_back(9, 1.0f); });
            return wrong +
                   throws(sparsecollInvalidArgument, "values: expected 6, 3 for each index", [] {
                     SparseVector<float>(9, {1, 2}, {1, 2, 3}, 3);
                   });
          }) == "");
  }
}

TEMPLATE_TEST_CASE("integers are added and sent", "", int, std::int64_t) {
  using T = TestType;
  for (int P = 1; P <= 4; ++P) {
    CHECK(with_team(P, quick_config(), [&](Communicator& comm) {
            const SparseVector<T> send(6, {0, 5}, {7, static_cast<T>(comm.rank())});
            SparseVector<T> sum, arrived;
            comm.sparseAllreducev(send, sum, kAll);
            std::string wrong = same<T>("the sum", Span<const T>(sum.values()),
                                        {static_cast<T>(7 * P), static_cast<T>(P * (P - 1) / 2)});
            std::vector<std::size_t> counts(static_cast<std::size_t>(P));
            comm.sparseAlltoall(send, arrived, counts);
            for (const std::size_t count : counts)
              wrong += unless(count == (P == 1                 ? 2u
                                        : comm.rank() == 0     ? 1u
                                        : comm.rank() == P - 1 ? 1u
                                                               : 0u),
                              "recvcounts");
            return wrong;
          }) == "");
  }
}

}  // namespace
}  // namespace sparsecoll::test
