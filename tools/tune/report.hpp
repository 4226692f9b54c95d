// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "predict.hpp"

namespace sparsecoll::tune {

using Json = nlohmann::ordered_json;

/// The predictions for one length.
struct Advice {
  std::size_t count = 0;
  std::vector<Prediction> rows;  ///< by density
  std::optional<double> break_even;
  std::optional<double> dense_measured;  ///< with --check
};

/// Writes all that was measured and predicted. Rates are in bits a second, times in seconds.
Json json_of(const Measured& measured, const Predictor& predictor,
             const std::vector<Advice>& advice);
/// Writes the same for people to read.
std::string text_of(const Measured& measured, const Predictor& predictor,
                    const std::vector<Advice>& advice);

/// Returns the last line of the text for one length.
std::string conclusion_of(const Advice& advice, const std::string& dense_name);

}  // namespace sparsecoll::tune
