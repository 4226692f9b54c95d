// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "common/fusion.hpp"

namespace sparsecoll::perf {
namespace {

std::size_t count_of(const std::string& word, const std::string& source) {
  std::size_t count = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
  if (error != std::errc() || end != word.data() + word.size() || count == 0 ||
      count > std::numeric_limits<std::uint32_t>::max()) {
    throw std::runtime_error("--tensors: expected counts from 1 to 2^32 - 1 in " + source +
                             ", got \"" + word + "\"");
  }
  return count;
}

}  // namespace

std::vector<std::size_t> read_tensors(const std::string& file_or_list) {
  std::stringstream text;
  const bool is_file = std::filesystem::is_regular_file(file_or_list);
  if (is_file) {
    text << std::ifstream(file_or_list).rdbuf();
  } else {
    text << file_or_list;
  }
  std::vector<std::size_t> counts;
  for (std::string line; std::getline(text, line);) {
    line.resize(std::min(line.find('#'), line.size()));
    for (char& letter : line) letter = letter == ',' ? ' ' : letter;
    std::istringstream words(line);
    const std::string source = is_file ? file_or_list : "the list (there is no such file)";
    for (std::string word; words >> word;) counts.push_back(count_of(word, source));
  }
  if (counts.empty()) throw std::runtime_error("--tensors: no counts in " + file_or_list);
  return counts;
}

std::vector<std::size_t> group_starts(std::span<const std::size_t> counts, std::size_t element,
                                      std::size_t bytes) {
  std::vector<std::size_t> starts;
  std::size_t filled = 0;
  for (std::size_t t = 0; t < counts.size(); ++t) {
    if (starts.empty() || filled + counts[t] * element > bytes) {
      starts.push_back(t);
      filled = 0;
    }
    filled += counts[t] * element;
  }
  return starts;
}

}  // namespace sparsecoll::perf
