// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Worked examples of values in 8 bits.

#include "oracle/wire.hpp"

#include <limits>

#include "support/catch.hpp"
#include "support/compare.hpp"

namespace sparsecoll::oracle {
namespace {

using test::difference;

TEST_CASE("values that share a scale are rounded to numbers of five significant bits") {
  Sparse<float> x{{0, 273.0f}, {3, 3.0f}, {4, -0.1f}};
  const Sparse<float> lost = round_for_wire(x, {Wire::kInt8, 512});
  CHECK(difference("sent", x, {{0, 272.0f}, {3, 3.0f}, {4, 0.0f}}) == "");
  CHECK(difference("lost", lost, {{0, 1.0f}, {3, 0.0f}, {4, -0.1f}}) == "");
}

TEST_CASE("groups of indices and regions have scales of their own") {
  const Sparse<double> x{{0, 1e6}, {1, 1.0}, {2, 1.0}, {4, 1.0}};
  Sparse<double> pairs = x, cut = x;
  round_for_wire(pairs, {Wire::kInt8, 2});
  CHECK(difference("pairs", pairs, {{0, 1015808.0}, {1, 0.0}, {2, 1.0}, {4, 1.0}}) == "");
  round_for_wire(cut, {Wire::kInt8, 1024}, {0, 2, 5});
  CHECK(difference("cut", cut, {{0, 1015808.0}, {1, 0.0}, {2, 1.0}, {4, 1.0}}) == "");
}

TEST_CASE("infinities stay, and the largest finite values too") {
  const float infinity = std::numeric_limits<float>::infinity();
  Sparse<float> x{{0, infinity}, {1, std::numeric_limits<float>::max()}, {2, -infinity}, {3, 1.0f}};
  const Sparse<float> lost = round_for_wire(x, {Wire::kInt8, 4});
  CHECK(difference("sent", x, {{0, infinity}, {1, 0x1.ep127f}, {2, -infinity}, {3, 0.0f}}) == "");
  CHECK(difference("lost", lost,
                   {{0, 0.0f}, {1, 0x1.fffffep127f - 0x1.ep127f}, {2, 0.0f}, {3, 1.0f}}) == "");
}

}  // namespace
}  // namespace sparsecoll::oracle
