// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The ways in which the call of one rank can deviate from the others', and the expected error
// messages.

#include <string>
#include <vector>

#include "support/attempt.hpp"

namespace sparsecoll::test {

struct Deviation {
  const char* name;
  bool coordinate_form;
  /// True if the argument is invalid (InvalidArgument on its rank); false if it only differs from
  /// that of the others.
  bool bad;
  void (*apply)(Arguments&, Tensor&);
  /// The message contains one word of each list: the names of the argument, one value, the other
  /// value.
  std::vector<std::vector<std::string>> words;
};

/// Returns valid calls that differ from the others' in one argument.
std::vector<Deviation> disagreements();

/// These return calls of dense verbs, and of `v` verbs, with one bad argument.
std::vector<Deviation> bad_dense_arguments();
std::vector<Deviation> bad_sparse_arguments();

/// Returns all deviations.
std::vector<Deviation> all_deviations();

/// Returns "" if `done` is the outcome that `rank` must see after rank `odd` deviated, and
/// otherwise what is wrong.
std::string judge(const Attempt& done, const Deviation& deviation, int rank, int odd);

/// Returns whether `text` contains `word` as a whole word, in upper or lower case.
bool has_word(const std::string& text, const std::string& word);

}  // namespace sparsecoll::test
