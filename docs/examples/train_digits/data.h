// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace train {

inline constexpr std::size_t kPixels = 64;   // 8 x 8
inline constexpr std::size_t kClasses = 10;  // the digits

/// Images and their digits.
struct Digits {
  std::vector<float> pixels;        ///< count() x kPixels, each 0 to 1
  std::vector<std::size_t> labels;  ///< count(), each below kClasses

  std::size_t count() const { return labels.size(); }
};

/// Reads one file of the data set (data/README.md). Throws std::runtime_error, with the file and
/// the line, if the file cannot be read or a line is not 64 numbers from 0 to 16 and a digit.
Digits load_digits(const std::filesystem::path& file);

/// Returns the images with these numbers, in this order.
Digits select(const Digits& from, std::span<const std::size_t> numbers);

}  // namespace train
