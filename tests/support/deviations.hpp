// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Everything one rank can do differently from the others, and what must be said about it.

#include <string>
#include <vector>

#include "support/attempt.hpp"

namespace sparsecoll::test {

struct Deviation {
  const char* name;
  bool coordinate_form;
  /// Bad in itself (InvalidArgument on its rank), or fine but not what the others do.
  bool bad;
  void (*apply)(Arguments&, Tensor&);
  /// The message holds one word of each line: the argument's names, one value, the other one.
  std::vector<std::vector<std::string>> words;
};

/// Legal calls that differ from the others' in one argument.
std::vector<Deviation> disagreements();

/// Calls of dense verbs, and of `v` verbs, with one bad argument.
std::vector<Deviation> bad_dense_arguments();
std::vector<Deviation> bad_sparse_arguments();

/// All of them.
std::vector<Deviation> all_deviations();

/// "" when `done` is what `rank` must see after rank `odd` deviated, and else what is wrong.
std::string judge(const Attempt& done, const Deviation& deviation, int rank, int odd);

/// Whether `text` holds `word` with no letter or digit next to it, in either case.
bool has_word(const std::string& text, const std::string& word);

}  // namespace sparsecoll::test
