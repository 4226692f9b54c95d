// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "calls/descriptor.hpp"

namespace sparsecoll {

/// Longest text about a bad argument that a rank sends to the others, with its final zero.
inline constexpr size_t kNoticeText = 400;

/// A rank's report on its arguments to all others, before a call or after a disagreement.
struct CallNotice {
  Descriptor descriptor;
  bool bad_arguments = false;  ///< `problem` says what is wrong with this rank's arguments
  std::string problem;
  std::vector<Descriptor> members;  ///< the verbs of a group, in order; empty for other calls
};

/// Returns the error of a call, as `rank` reports it to its user; empty if there is none. Bad
/// arguments of another rank come first, then the first difference to another rank's arguments.
/// `notices` are those of all ranks, by rank.
std::string find_disagreement(std::span<const CallNotice> notices, int rank);

/// Copies `text` into a notice as a string that ends with 0. Cuts what is too long.
void put_notice_text(const char* text, char (&notice)[kNoticeText]);
/// Returns the text of a received notice, which may lack the final 0.
std::string notice_text(const char (&notice)[kNoticeText]);

}  // namespace sparsecoll
