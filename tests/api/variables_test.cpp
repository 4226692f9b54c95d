// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of the table of environment variables: what it says is what an init does.

#include "api/variables.hpp"

#include <optional>
#include <string>

#include "api/config.hpp"
#include "support/catch.hpp"
#include "support/variable.hpp"

namespace sparsecoll::unit {
namespace {

bool is_text(const Variable& each) { return each.words.empty() && !each.is_number(); }

std::string problem() {
  const CheckedConfig checked = check_config(nullptr);
  return checked.problem ? checked.problem->what() : "";
}

TEST_CASE("a variable that is set to its default changes nothing") {
  const Descriptor unset = describe(make_config(nullptr));
  int fields = 0;
  for (const Variable& each : variables()) {
    if (!*each.overrides) continue;
    const test::Variable set(each.name, each.otherwise);
    INFO(each.name);
    CHECK(problem().empty());
    CHECK(describe(make_config(nullptr)) == unset);
    ++fields;
  }
  CHECK(fields == 8);
}

TEST_CASE("an init accepts all values of the table and no other") {
  // SPARSECOLL_FLIGHT_SIGNAL needs this one.
  const test::Variable files("SPARSECOLL_FLIGHT_RECORDER", "record");
  for (const Variable& each : variables()) {
    if (is_text(each)) continue;
    INFO(each.name);
    for (const Word& word : each.words) {
      if (std::string(each.name) == "SPARSECOLL_SIMD" && word.value != kAutoWord &&
          !host::find_filters(static_cast<host::Simd>(word.value)))
        continue;
      const test::Variable set(each.name, word.name);
      CHECK(problem() == "");
    }
    if (each.is_number()) {
      for (const uint64_t number : {each.range.least, each.range.most}) {
        const test::Variable set(each.name, std::to_string(number));
        CHECK(problem() == "");
      }
    }
    for (const char* wrong : {"", "no such value", "-1", "18446744073709551616"}) {
      const test::Variable set(each.name, wrong);
      CHECK(problem().rfind(std::string(each.name) + ": expected ", 0) == 0);
    }
  }
}

TEST_CASE("the ranks agree on the variables that the table names") {
  const Descriptor unset = describe(make_config(nullptr));
  const auto differs = [&](const char* name, const std::string& value) {
    const test::Variable set(name, value);
    return !(describe(make_config(nullptr)) == unset);
  };
  for (const Variable& each : variables()) {
    if (is_text(each) || std::string(each.name) == "SPARSECOLL_FLIGHT_SIGNAL") continue;
    INFO(each.name);
    const std::string other = each.is_number() ? "7" : each.words.back().name;
    const bool default_is_last = other == std::string(each.otherwise).substr(0, other.size());
    CHECK(differs(each.name, default_is_last ? each.words.front().name : other) == each.agreed);
  }
}

TEST_CASE("a variable that is not in the table cannot be read") {
  try {
    chosen_word("SPARSECOLL_OTHER", 0);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == sparsecollInternalError);
  }
}

TEST_CASE("the values of a variable in words") {
  CHECK(values_of(variable("SPARSECOLL_SELECT")) == "exact, reuse");
  CHECK(values_of(variable("SPARSECOLL_THREADS")) == "1 to 1024");
  CHECK(values_of(variable("SPARSECOLL_TIMEOUT_MS")) == "0 to 2147483647; 0 = no deadline");
  CHECK(values_of(variable("SPARSECOLL_DENSE_BELOW")) == "0 or more values");
  CHECK(values_of(variable("SPARSECOLL_TOPOLOGY")) == "a file of levels");
}

}  // namespace
}  // namespace sparsecoll::unit
