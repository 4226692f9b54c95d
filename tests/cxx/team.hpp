// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <sparsecoll/sparsecoll.hpp>

#include "support/catch.hpp"
#include "support/ranks.hpp"

namespace sparsecoll::test {

/// Returns the default configuration with a deadline shorter than the timeout of the test.
inline Config quick_config() {
  Config config;
  config.timeoutMs = 20000;
  return config;
}

/// Runs body(communicator) on one thread for each of P ranks. Returns the errors that the bodies
/// return or throw, or "".
template <class Body>
std::string with_team(int P, const Config& config, Body body) {
  std::vector<Communicator> comms = Communicator::initAll(P, config);
  return run_threads("team of " + std::to_string(P), P, [&](int rank) -> std::string {
    return body(comms[static_cast<std::size_t>(rank)]);
  });
}

/// Returns "" if `good`, otherwise that `what` is wrong.
inline std::string unless(bool good, const std::string& what) {
  return good ? std::string() : what + " is wrong; ";
}

template <class T>
std::string same(const std::string& what, Span<const T> got, const std::vector<T>& want) {
  return unless(got.size() == want.size() && std::equal(got.begin(), got.end(), want.begin()),
                what);
}

/// Runs `body`. Returns "" if it throws an Error with this code and a message that contains
/// `words`.
template <class Body>
std::string throws(sparsecollResult_t code, const std::string& words, Body body) {
  try {
    body();
  } catch (const Error& error) {
    if (error.code() == code && std::strstr(error.what(), words.c_str()) != nullptr) return "";
    return std::string("it threw ") + sparsecollGetErrorString(error.code()) + " '" + error.what() +
           "'; ";
  }
  return "it did not throw '" + words + "'; ";
}

}  // namespace sparsecoll::test
