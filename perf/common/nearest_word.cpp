// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/nearest_word.hpp"

#include <algorithm>
#include <cstddef>

namespace sparsecoll::perf {

namespace {

/// Returns the number of edits between two words (optimal string alignment).
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> edits(a.size() + 1,
                                              std::vector<std::size_t>(b.size() + 1, 0));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        edits[i][j] = i + j;
        continue;
      }
      edits[i][j] = std::min({edits[i - 1][j] + 1, edits[i][j - 1] + 1,
                              edits[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        edits[i][j] = std::min(edits[i][j], edits[i - 2][j - 2] + 1);
    }
  }
  return edits[a.size()][b.size()];
}

}  // namespace

std::string nearest_word(const std::string& given, const std::vector<std::string>& words) {
  std::string nearest;
  std::size_t fewest = std::max<std::size_t>(given.size() / 3, 1) + 1;
  for (const std::string& word : words) {
    if (const std::size_t edits = distance(given, word); edits < fewest) {
      fewest = edits;
      nearest = word;
    }
  }
  return nearest;
}

std::string unknown_option(const std::string& given, const std::vector<std::string>& options) {
  const std::string name = given.substr(0, given.find('='));
  const std::string nearest = nearest_word(name, options);
  return "there is no option " + name + (nearest.empty() ? "" : "; did you mean " + nearest + "?");
}

}  // namespace sparsecoll::perf
