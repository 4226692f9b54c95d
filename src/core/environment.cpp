// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/environment.hpp"

#include <cstdlib>

namespace sparsecoll {

namespace {

[[noreturn]] void unknown_word(const char* variable, const std::string& got,
                               std::span<const Word> words) {
  std::string valid;
  for (const Word& word : words) valid += (valid.empty() ? "" : ", ") + std::string(word.name);
  fail(sparsecollInvalidArgument, variable, ": expected one of ", valid, "; got '", got, "'");
}

}  // namespace

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

int choose(const char* variable, std::span<const Word> words, int otherwise) {
  const auto got = environment(variable);
  if (!got) return otherwise;
  for (const Word& word : words)
    if (*got == word.name) return word.value;
  unknown_word(variable, *got, words);
}

}  // namespace sparsecoll
