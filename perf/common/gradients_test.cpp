// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/gradients.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "support/catch.hpp"

using sparsecoll::perf::Gradients;

TEST_CASE("each call has the vector turned by one step more, and the first after reset() itself") {
  for (const int n : {1, 3, 64, 100, 30000}) {
    CAPTURE(n);
    std::vector<float> vector(static_cast<std::size_t>(n));
    std::iota(vector.begin(), vector.end(), 0.0f);
    const std::vector<float> unrolled = Gradients<float>::unrolled(vector);
    Gradients<float> gradients;
    CHECK(gradients.offset() == 0);
    std::vector<float> turned = vector;
    for (std::size_t call = 0; call < 2 * Gradients<float>::kNumber + 1; ++call) {
      if (call % Gradients<float>::kNumber == 0) turned = vector;
      gradients.advance();
      REQUIRE(gradients.offset() + vector.size() <= unrolled.size());
      REQUIRE(std::equal(turned.begin(), turned.end(), unrolled.data() + gradients.offset()));
      std::ranges::rotate(turned, turned.begin() + Gradients<float>::kStep % n);
    }
    gradients.advance();
    gradients.reset();
    CHECK(gradients.offset() == 0);
    gradients.advance();
    CHECK(gradients.offset() == 0);
  }
  CHECK(Gradients<float>::unrolled({}).empty());
}
