// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/pending_results.hpp"

#include "core/error.hpp"

namespace sparsecoll {

const PendingResult& PendingResults::find(const sparsecollSparse_t* recv) const {
  if (results_.empty())
    fail(sparsecollInvalidUsage,
         "nothing to fetch: the last verb did not return sparsecollTruncated");
  for (const auto& each : results_)
    if (each->recv == recv || !from_group_) return *each;
  fail(sparsecollInvalidArgument,
       "recv: expected a struct that a call of the group was given, got ",
       static_cast<const void*>(recv));
}

}  // namespace sparsecoll
