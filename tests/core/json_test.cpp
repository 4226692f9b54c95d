// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of the reader of JSON: every kind of value, lines, and what is refused.

#include "core/json.hpp"

#include "core/error.hpp"
#include "support/catch.hpp"

namespace sparsecoll::unit {
namespace {

using Kind = JsonValue::Kind;

std::string refusal(const std::string& text) {
  try {
    parse_json(text);
    return "accepted";
  } catch (const Error& error) {
    CHECK(error.code() == sparsecollInvalidArgument);
    return error.what();
  }
}

TEST_CASE("values have their kinds, texts and lines") {
  const JsonValue object =
      parse_json(" {\"a\": [1, -2.5e+3,\n\"x\"],\n \"b\": {}, \"c\": true, \"d\": null}\n");
  REQUIRE(object.kind == Kind::object);
  REQUIRE(object.members.size() == 4);
  const JsonValue& array = object.members[0].value;
  CHECK(object.members[0].key == "a");
  REQUIRE(array.kind == Kind::array);
  REQUIRE(array.items.size() == 3);
  CHECK(array.items[0].kind == Kind::number);
  CHECK(array.items[1].text == "-2.5e+3");
  CHECK(array.items[2].kind == Kind::string);
  CHECK(array.items[2].line == 2);
  CHECK(parse_json("[1\n,2\n\n,3]").items[0].line == 1);
  CHECK(parse_json("[1\n,2\n\n,3]").items[2].line == 4);
  CHECK(object.members[1].line == 3);
  CHECK(object.members[1].value.kind == Kind::object);
  CHECK(object.members[2].value.text == "true");
  CHECK(object.members[3].value.kind == Kind::null);
}

TEST_CASE("strings lose their escapes") {
  CHECK(parse_json(R"("a\"\\\/\b\f\n\r\tz")").text == "a\"\\/\b\f\n\r\tz");
  CHECK(parse_json(R"("\u0041\u00e9\u20AC\ud83d\ude00")").text ==
        "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
}

TEST_CASE("what is no JSON is refused with its line") {
  for (const char* bad : {"",
                          "{",
                          "[",
                          "[1,",
                          "[1,]",
                          "{\"a\"}",
                          "{\"a\":}",
                          "{\"a\":1,}",
                          "{a:1}",
                          "01",
                          "-",
                          "1.",
                          "1e",
                          "+1",
                          ".5",
                          "tru",
                          "nul",
                          "'a'",
                          "\"a",
                          "\"\\x\"",
                          "\"\\u12g4\"",
                          "\"\\ud800\"",
                          "\"\\ud800\\u0041\"",
                          "\"\\udc00\"",
                          "\"\n\"",
                          "1 2",
                          "[1] x",
                          "\"\\",
                          "\"\xff\"",
                          "1e999"}) {
    INFO(bad);
    CHECK(refusal(bad).rfind("line ", 0) == 0);
  }
  CHECK(refusal("{\n\"a\": 1,\n\"a\": 2}") == "line 3: the key 'a' comes twice");
  CHECK(refusal("[1,\n2\n3]") ==
        "line 3: syntax error while parsing array - unexpected number literal; expected ']'");
}

TEST_CASE("values may not be nested without end") {
  const std::string deep(100000, '[');
  CHECK(refusal(deep).find("nested") != std::string::npos);
  const auto nested = [](int depth) {
    std::string text = "1";
    for (int i = 0; i < depth; ++i) text = text.insert(0, 1, '[') + ']';
    return text;
  };
  CHECK(refusal(nested(31)) == "accepted");
  CHECK(refusal(nested(32)) != "accepted");
}

}  // namespace
}  // namespace sparsecoll::unit
