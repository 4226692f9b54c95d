// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sparsecoll/sparsecoll.h>

#include <functional>
#include <string>
#include <vector>

namespace sparsecoll::test {

/// How a rank that is a process has ended.
struct ProcessVerdict {
  int signal = 0;    ///< that killed it; 0: it has ended itself
  std::string text;  ///< what its body returned
};

/// Runs body(rank, id) in P processes, which are forked from this one; it must have no other
/// threads. Rank 0 makes the id. A process that hangs is killed after `seconds`. `stopped` is a
/// rank that will be stopped, and is killed when the others have ended; -1: none.
std::vector<ProcessVerdict> run_processes(
    int P, int seconds,
    const std::function<std::string(int rank, const sparsecollUniqueId& id)>& body,
    int stopped = -1);

/// Returns the texts of all that have ended themselves, and that others were killed; "" if all is
/// well. `victim` may be killed by any signal; -1: none may.
std::string joined(const std::vector<ProcessVerdict>& verdicts, int victim = -1);

}  // namespace sparsecoll::test
