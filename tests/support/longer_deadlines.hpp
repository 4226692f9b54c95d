// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <exception>
#include <functional>
#include <string>

namespace sparsecoll::test {

/// Returns the verdict of body(). An exception is a verdict, too.
template <class Body>
std::string verdict_of(const Body& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    return std::string("exception: ") + error.what();
  }
}

/// Runs body(ms) with a deadline of `first_ms`. While its verdict speaks of a deadline that passed,
/// or of something late, runs it again with a deadline four times as long, at most three times.
/// Returns the last verdict.
///
/// A thread that gets no CPU for about as long as a deadline lets a test fail by chance. Such a
/// delay does not grow with the deadline; that of a defect does.
inline std::string with_longer_deadlines(int first_ms,
                                         const std::function<std::string(int ms)>& body) {
  for (int attempt = 0, ms = first_ms;; ++attempt, ms *= 4) {
    const std::string verdict = verdict_of([&] { return body(ms); });
    const bool by_time =
        verdict.find("deadline") != std::string::npos || verdict.find("late") != std::string::npos;
    if (!by_time || attempt == 3) return verdict;
    std::printf("with a deadline of %d ms: %s\n", ms, verdict.c_str());
  }
}

/// Runs body(), and again while its verdict speaks of something late, at most three times. Returns
/// the last verdict. This is for bounds without a deadline: a thread that gets no CPU is late by
/// chance, and a defect each time.
inline std::string unless_late_by_chance(const std::function<std::string()>& body) {
  for (int attempt = 0;; ++attempt) {
    const std::string verdict = verdict_of(body);
    if (attempt == 3 || verdict.find("late") == std::string::npos) return verdict;
    std::printf("again, because of: %s\n", verdict.c_str());
  }
}

}  // namespace sparsecoll::test
