// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Helpers for the tests of push-sum's errors.

#include <cstdint>
#include <string>
#include <vector>

#include "support/push_sum.hpp"

namespace sparsecoll::test {

inline constexpr std::size_t kLength = 50;

inline constexpr sparsecollPushSumConfig_t kUsual = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;

inline std::uint64_t sequence_of(sparsecollComm_t comm) {
  std::uint64_t sequence = 0;
  sparsecollCommGetSequence(comm, &sequence);
  return sequence;
}

/// Returns "" if the call failed with this code and a message that has these words.
inline std::string refused(const std::string& what, sparsecollResult_t got, sparsecollResult_t want,
                           const std::string& words, sparsecollComm_t comm) {
  const std::string message = sparsecollGetLastError(comm);
  if (got != want) return what + ": " + explain(got, comm);
  if (message.find(words) == std::string::npos) return what + ": the message is " + message;
  return "";
}

/// Makes one step, waits for it, and checks it exactly, for P = 2 and all ones.
inline std::string works(const PushSum<double>& state, sparsecollComm_t comm) {
  std::vector<double> x(kLength, 1.0), estimate(kLength);
  sparsecollResult_t result = state.step(x, &estimate);
  if (result == sparsecollSuccess) result = sparsecollCommSynchronize(comm);
  if (result != sparsecollSuccess) return explain(result, comm);
  return difference("estimate", estimate, std::vector<double>(kLength, 1.0));
}

}  // namespace sparsecoll::test
