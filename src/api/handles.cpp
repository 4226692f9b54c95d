// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/handles.hpp"

#include "api/communicator.hpp"
#include "api/push_sum_state.hpp"
#include "api/residual.hpp"

namespace sparsecoll {

// The tables are never destroyed: an object that the program did not destroy must not outlive its
// table at exit.

HandleTable<Communicator>& communicators() {
  static auto& table = *new HandleTable<Communicator>(1);
  return table;
}

HandleTable<Residual>& residuals() {
  static auto& table = *new HandleTable<Residual>(2);
  return table;
}

HandleTable<PushSumState>& push_sums() {
  static auto& table = *new HandleTable<PushSumState>(3);
  return table;
}

}  // namespace sparsecoll
