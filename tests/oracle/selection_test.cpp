// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests the oracle's selection and summation on examples that were computed by hand.

#include <limits>

#include "oracle/oracle.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"

namespace sparsecoll {
namespace {

using oracle::kAll;
using oracle::Sparse;
using test::difference;
using Oracle = oracle::Oracle<float>;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST_CASE("top-k keeps the largest magnitudes in order of index") {
  const Sparse<float> x{{2, 1.0f}, {5, -4.0f}, {6, 3.0f}, {9, 2.0f}};
  CHECK(difference("top-2", Oracle::top_k(x, 2), {{5, -4.0f}, {6, 3.0f}}) == "");
  CHECK(difference("top-0", Oracle::top_k(x, 0), {}) == "");
  CHECK(difference("top-9", Oracle::top_k(x, 9), x) == "");
  CHECK(difference("top-all", Oracle::top_k(x, kAll), x) == "");
}

TEST_CASE("ties go to the lowest index") {
  const Sparse<float> x{{0, 1.0f}, {1, -2.0f}, {2, 2.0f}, {3, 2.0f}, {4, -2.0f}};
  CHECK(difference("top-1", Oracle::top_k(x, 1), {{1, -2.0f}}) == "");
  CHECK(difference("top-3", Oracle::top_k(x, 3), {{1, -2.0f}, {2, 2.0f}, {3, 2.0f}}) == "");
}

TEST_CASE("zeros of either sign are never selected") {
  const Sparse<float> x{{0, 0.0f}, {1, -0.0f}, {2, 1e-45f}, {3, 0.0f}};
  CHECK(difference("top-4", Oracle::top_k(x, 4), {{2, 1e-45f}}) == "");
}

TEST_CASE("NaN above Inf above finite") {
  const Sparse<float> x{{0, 3e38f}, {1, -kInf}, {2, kNan}, {3, kInf}, {4, -kNan}};
  CHECK(difference("top-1", Oracle::top_k(x, 1), {{2, kNan}}) == "");
  CHECK(difference("top-2", Oracle::top_k(x, 2), {{2, kNan}, {4, -kNan}}) == "");
  CHECK(difference("top-3", Oracle::top_k(x, 3), {{1, -kInf}, {2, kNan}, {4, -kNan}}) == "");
  CHECK(Oracle::top_k(x, 4).size() == 4);
  CHECK(Oracle::top_k(x, 4).front().index == 1);
}

TEST_CASE("sums run in order of the ranks and start from the first present value") {
  // (1e8 + 1) - 1e8 = 0 in float, whereas (1e8 - 1e8) + 1 = 1.
  const Sparse<float> sum = Oracle::sum_in_order(
      {{{3, 1e8f}, {7, 1e8f}}, {{3, 1.0f}, {7, -1e8f}}, {{1, -0.0f}, {3, -1e8f}, {7, 1.0f}}});
  CHECK(difference("sum", sum, {{1, -0.0f}, {3, 0.0f}, {7, 1.0f}}) == "");
}

TEST_CASE("values leave as +0 and as the one canonical NaN") {
  CHECK(test::bits(Oracle::leaving(-0.0f)) == 0u);
  CHECK(test::bits(Oracle::leaving(-kNan)) == 0x7fc00000u);
  CHECK(test::bits(Oracle::canonical(-kNan)) == 0x7fc00000u);
  CHECK(test::bits(Oracle::canonical(-0.0f)) == 0x80000000u);
  CHECK(Oracle::leaving(-1.5f) == -1.5f);
}

TEST_CASE("scatter fills with zeros and writes what values leave as") {
  CHECK(difference("dense", Oracle::scatter({{1, -0.0f}, {3, 2.0f}}, 5),
                   {0.0f, 0.0f, 0.0f, 2.0f, 0.0f}) == "");
  CHECK(Oracle::scatter({}, 0).empty());
}

}  // namespace
}  // namespace sparsecoll
