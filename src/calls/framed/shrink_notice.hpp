// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sparsecoll/sparsecoll.h>

#include <string>
#include <vector>

#include "core/types.hpp"

namespace sparsecoll {

/// A message from one rank to another during a shrink.
struct ShrinkNotice {
  enum class Kind : uint32_t { hello = 1, result = 2, done = 3 };

  /// Returns the size of an encoded notice of a communicator with so many ranks.
  static size_t encoded_bytes(size_t ranks);
  /// Writes encoded_bytes(ranks) bytes.
  void encode(size_t ranks, std::byte* to) const;
  /// Throws RemoteError if `peer` has sent anything else than an encoded notice.
  static ShrinkNotice decode(int peer, size_t ranks, ConstBytes bytes);

  Kind kind;
  sparsecollResult_t result = sparsecollSuccess;
  bool lists = false;            ///< hello: `ranks` is a list of the caller
  uint64_t committed = 0;        ///< hello: this rank's; result: that of all
  uint64_t address = 0;          ///< hello
  std::string why = {};          ///< of a failure
  std::vector<bool> ranks = {};  ///< hello: excluded; good result: remaining; failure: missing
};

}  // namespace sparsecoll
