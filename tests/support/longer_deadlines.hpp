// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cctype>
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

/// Returns whether the verdict says "late". "A later call" does not.
inline bool says_late(const std::string& verdict) {
  const std::string word = "late";
  const auto is_letter = [&](std::size_t at) {
    return at < verdict.size() && std::isalpha(static_cast<unsigned char>(verdict[at])) != 0;
  };
  std::size_t at = verdict.find(word);
  while (at != std::string::npos && (is_letter(at - 1) || is_letter(at + word.size())))
    at = verdict.find(word, at + 1);
  return at != std::string::npos;
}

/// Returns `wrong` or, if that is empty and something took longer than `limit`, that it was late.
/// So what is wrong is not tried again because it was late, too.
inline std::string wrong_or_late(const std::string& wrong, double seconds, double limit) {
  if (!wrong.empty() || seconds < limit) return wrong;
  return "late: after " + std::to_string(seconds) + " s";
}

/// Runs body(ms) with a deadline of `first_ms`. While its verdict speaks of a deadline that passed,
/// or of something late, runs it again with a deadline four times as long, at most three times.
/// Returns the last verdict.
///
/// A thread that gets no CPU for about as long as a deadline lets a test fail by chance. Such a
/// delay does not grow with the deadline; that of a defect does.
///
/// Processes that run it together pass `on_any`, which returns whether its argument is true on any
/// of them. They try again together.
template <class OnAny = std::identity>
std::string with_longer_deadlines(int first_ms, const std::function<std::string(int ms)>& body,
                                  const OnAny& on_any = {}) {
  for (int attempt = 0, ms = first_ms;; ++attempt, ms *= 4) {
    const std::string verdict = verdict_of([&] { return body(ms); });
    const bool by_time = verdict.find("deadline") != std::string::npos || says_late(verdict);
    if (attempt == 3 || !on_any(by_time)) return verdict;
    std::printf("with a deadline of %d ms: %s\n", ms, verdict.c_str());
  }
}

/// Runs body(), and again while its verdict speaks of something late, at most three times. Returns
/// the last verdict. This is for bounds without a deadline: a thread that gets no CPU is late by
/// chance, and a defect each time.
inline std::string unless_late_by_chance(const std::function<std::string()>& body) {
  for (int attempt = 0;; ++attempt) {
    const std::string verdict = verdict_of(body);
    if (attempt == 3 || !says_late(verdict)) return verdict;
    std::printf("again, because of: %s\n", verdict.c_str());
  }
}

}  // namespace sparsecoll::test
