// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "calls/call.hpp"

namespace sparsecoll {

/// One verb of a group.
struct GroupTask {
  std::function<void(AgreedCall&)> run;
  /// Index of the task that must reach its confirm() before this one starts; -1: none.
  int after = -1;
};

}  // namespace sparsecoll
