// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sparsecoll/sparsecoll.h>

#include <functional>
#include <string>
#include <vector>

namespace sparsecoll::test {

/// The end of a rank that is a process.
struct ProcessVerdict {
  int signal = 0;    ///< the signal that killed it; 0: it has ended itself
  std::string text;  ///< the text that its body returned
};

/// Runs body(rank, id) in P processes, which are forked from this one; it must have no other
/// threads. Rank 0 makes the id. A process that hangs is killed after `seconds`. `stopped` is a
/// rank that will be stopped, and is killed when the others have ended; -1: none.
std::vector<ProcessVerdict> run_processes(
    int P, int seconds,
    const std::function<std::string(int rank, const sparsecollUniqueId& id)>& body,
    int stopped = -1);

/// Returns the texts of all ranks that have ended themselves, and a text for each that was killed;
/// "" if there is no error. `victim` may be killed by any signal; -1: none may.
std::string joined(const std::vector<ProcessVerdict>& verdicts, int victim = -1);

}  // namespace sparsecoll::test
