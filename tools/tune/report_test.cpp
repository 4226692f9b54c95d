// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "support/catch.hpp"

namespace sparsecoll::tune {
namespace {

/// The last line for densities with these speed-ups.
std::string conclusion(const std::vector<std::pair<double, double>>& speed_ups,
                       std::optional<double> break_even) {
  Advice advice;
  advice.break_even = break_even;
  for (const auto& [density, speed_up] : speed_ups) {
    Prediction row;
    row.density = density;
    row.exchange = 1;
    row.dense = speed_up;
    advice.rows.push_back(row);
  }
  return conclusion_of(advice, "MPI_Allreduce");
}

TEST_CASE("the last line says where it pays, and where not") {
  CHECK(conclusion({{0.001, 4}, {0.01, 2}, {0.1, 0.5}}, 0.02) ==
        "  Pays at densities up to 2%; at 0.1% expect 4 times the speed of MPI_Allreduce.\n");
  CHECK(conclusion({{0.001, 1}, {0.01, 2}}, 0.01) ==
        "  Pays at densities up to 1%, and perhaps above; at 1% expect 2 times the speed of "
        "MPI_Allreduce.\n");
  CHECK(conclusion({{0.001, 0.5}, {0.01, 0.9}}, std::nullopt) ==
        "  Does not pay: MPI_Allreduce is faster at all of these densities.\n");
}

TEST_CASE("the last line names lower densities that do not pay") {
  CHECK(conclusion({{0.001, 4}, {0.003, 0.9}, {0.01, 0.8}, {0.1, 2}}, 0.1) ==
        "  Pays at densities up to 10% except 0.3%, 1%, and perhaps above; at 0.1% expect 4 times "
        "the speed of MPI_Allreduce.\n");
  CHECK(conclusion({{0.001, 0.9}, {0.01, 2}, {0.1, 0.5}}, 0.05) ==
        "  Pays at densities up to 5% except 0.1%; at 1% expect 2 times the speed of "
        "MPI_Allreduce.\n");
}

}  // namespace
}  // namespace sparsecoll::tune
