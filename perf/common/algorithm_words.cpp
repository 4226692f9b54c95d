// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/algorithm_words.hpp"

#include "calls/algorithm_info.hpp"

namespace sparsecoll::perf {

const std::vector<NamedAlgorithm>& named_algorithms() {
  static const std::vector<NamedAlgorithm> all = [] {
    std::vector<NamedAlgorithm> named;
    for (const AlgorithmInfo& each : kAlgorithms) {
      named.push_back({each.name, static_cast<sparsecollAlgo_t>(each.id)});
      if (each.id == AlgorithmId::oktopk)
        named.push_back({kReuse, sparsecollAlgoOktopk, sparsecollSelectReuse});
    }
    named.push_back({kReordered, sparsecollAlgoAuto, sparsecollSelectExact, 1});
    return named;
  }();
  return all;
}

std::string word_of(int algorithm) {
  for (const NamedAlgorithm& named : named_algorithms()) {
    if (named.algorithm == algorithm) return named.word;
  }
  return std::to_string(algorithm);
}

std::vector<std::string> sparse_algorithms() {
  std::vector<std::string> words;
  for (const NamedAlgorithm& named : named_algorithms()) words.emplace_back(named.word);
  return words;
}

}  // namespace sparsecoll::perf
