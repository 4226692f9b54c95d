// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sparsecoll {

/// A value of a JSON text (RFC 8259), with the line on which it begins.
struct JsonValue {
  enum class Kind { null, boolean, number, string, array, object };
  struct Member;

  Kind kind = Kind::null;
  size_t line = 0;
  std::string text;              ///< the text of a string, unescaped, or of a number or boolean
  std::vector<JsonValue> items;  ///< the values of an array
  std::vector<Member> members;   ///< the members of an object, in the order of the text
};

struct JsonValue::Member {
  std::string key;
  size_t line;  ///< the line of the key
  JsonValue value;
};

/// Returns the name of a type of value: "an array", "a string".
const char* name_of(JsonValue::Kind kind);

/// Reads a JSON text. Throws InvalidArgument with the line of what is wrong: besides the rules of
/// JSON, a key may not occur twice in an object, and values may be nested 32 deep.
JsonValue parse_json(std::string_view text);

}  // namespace sparsecoll
