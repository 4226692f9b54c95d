// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "data.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <stdexcept>
#include <string>

namespace train {
namespace {

constexpr int kDarkest = 16;  // dark pixels in a block of 4 x 4

/// Removes the next number and the comma behind it from `text`, and returns the number.
int take_number(std::string_view& text, int limit) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0 || number > limit) {
    throw std::runtime_error("expected a number from 0 to " + std::to_string(limit) + " at \"" +
                             std::string(text.substr(0, 12)) + "\"");
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty() && text.front() == ',') text.remove_prefix(1);
  return number;
}

void append_line(std::string_view line, Digits& digits) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  for (std::size_t pixel = 0; pixel < kPixels; ++pixel) {
    digits.pixels.push_back(static_cast<float>(take_number(line, kDarkest)) / kDarkest);
  }
  digits.labels.push_back(static_cast<std::size_t>(take_number(line, kClasses - 1)));
  if (!line.empty()) throw std::runtime_error("more than 65 columns");
}

}  // namespace

Digits load_digits(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line)) throw std::runtime_error("cannot read " + file.string());
  Digits digits;
  for (std::size_t number = 2; std::getline(in, line); ++number) {  // line 1 is the header
    try {
      append_line(line, digits);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(file.string() + ":" + std::to_string(number) + ": " + error.what());
    }
  }
  if (digits.count() == 0) throw std::runtime_error("no images in " + file.string());
  return digits;
}

Digits select(const Digits& from, std::span<const std::size_t> numbers) {
  Digits chosen;
  chosen.pixels.reserve(numbers.size() * kPixels);
  chosen.labels.reserve(numbers.size());
  for (const std::size_t number : numbers) {
    std::copy_n(from.pixels.begin() + static_cast<std::ptrdiff_t>(number * kPixels), kPixels,
                std::back_inserter(chosen.pixels));
    chosen.labels.push_back(from.labels[number]);
  }
  return chosen;
}

}  // namespace train
