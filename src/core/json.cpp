// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/json.hpp"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "core/error.hpp"

namespace sparsecoll {

namespace {

constexpr size_t kDeepest = 32;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Appends a code point in UTF-8.
void append_utf8(std::string& out, unsigned code) {
  const auto byte = [&](unsigned bits) { out += static_cast<char>(bits); };
  if (code < 0x80) return byte(code);
  if (code < 0x800) {
    byte(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      byte(0xe0 | code >> 12);
    } else {
      byte(0xf0 | code >> 18);
      byte(0x80 | (code >> 12 & 0x3f));
    }
    byte(0x80 | (code >> 6 & 0x3f));
  }
  byte(0x80 | (code & 0x3f));
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  JsonValue read() {
    JsonValue value = read_value(0);
    skip_space();
    if (at_ < text_.size()) wrong("expected the end of the text");
    return value;
  }

 private:
  [[noreturn]] void wrong(const std::string& what) const {
    fail(sparsecollInvalidArgument, "line ", line_, ": ", what,
         at_ < text_.size() ? text(", got '", text_[at_], "'") : ", got the end of the text");
  }

  void skip_space() {
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] != ' ' && text_[at_] != '\t' && text_[at_] != '\n' && text_[at_] != '\r')
        return;
    }
  }

  /// Skips one character, if it comes next after white space.
  bool takes(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  JsonValue read_value(size_t depth) {
    skip_space();
    if (depth == kDeepest) wrong("values are nested too deep");
    JsonValue value;
    value.line = line_;
    const char first = at_ < text_.size() ? text_[at_] : '\0';
    if (first == '{') {
      value.kind = JsonValue::Kind::object;
      read_members(value, depth);
    } else if (first == '[') {
      value.kind = JsonValue::Kind::array;
      read_items(value, depth);
    } else if (first == '"') {
      value.kind = JsonValue::Kind::string;
      value.text = read_string();
    } else if (first == '-' || is_digit(first)) {
      value.kind = JsonValue::Kind::number;
      value.text = read_number();
    } else {
      read_word(value);
    }
    return value;
  }

  void read_members(JsonValue& object, size_t depth) {
    ++at_;
    if (takes('}')) return;
    std::unordered_set<std::string> keys;
    do {
      skip_space();
      if (at_ == text_.size() || text_[at_] != '"') wrong("expected a key in quotes");
      const size_t line = line_;
      std::string key = read_string();
      if (!keys.insert(key).second)
        fail(sparsecollInvalidArgument, "line ", line, ": the key '", key, "' comes twice");
      if (!takes(':')) wrong("expected ':'");
      object.members.push_back({std::move(key), line, read_value(depth + 1)});
    } while (takes(','));
    if (!takes('}')) wrong("expected ',' or '}'");
  }

  void read_items(JsonValue& array, size_t depth) {
    ++at_;
    if (takes(']')) return;
    do {
      array.items.push_back(read_value(depth + 1));
    } while (takes(','));
    if (!takes(']')) wrong("expected ',' or ']'");
  }

  std::string read_string() {
    std::string out;
    for (++at_; at_ < text_.size() && text_[at_] != '"';) {
      if (static_cast<unsigned char>(text_[at_]) < 0x20) wrong("expected an escaped character");
      if (text_[at_] == '\\')
        read_escape(out);
      else
        out += text_[at_++];
    }
    if (at_ == text_.size()) wrong("expected '\"'");
    ++at_;
    return out;
  }

  void read_escape(std::string& out) {
    constexpr std::string_view kNames = "\"\\/bfnrt", kCharacters = "\"\\/\b\f\n\r\t";
    if (++at_ == text_.size()) wrong("expected an escape");
    const size_t name = kNames.find(text_[at_]);
    if (name != std::string_view::npos) {
      ++at_;
      out += kCharacters[name];
      return;
    }
    if (text_[at_] != 'u') wrong("expected an escape");
    const unsigned code = read_hex();
    if (code < 0xd800 || code > 0xdfff) return append_utf8(out, code);
    if (code > 0xdbff || text_.substr(at_, 2) != "\\u") wrong("expected a pair of surrogates");
    ++at_;
    const unsigned low = read_hex();
    if (low < 0xdc00 || low > 0xdfff) wrong("expected a pair of surrogates");
    append_utf8(out, 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00));
  }

  /// Reads the four digits behind \u.
  unsigned read_hex() {
    constexpr std::string_view kDigits = "0123456789abcdef";
    unsigned code = 0;
    ++at_;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = at_ < text_.size() ? text_[at_] : '\0';
      const size_t digit = kDigits.find(c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c);
      if (digit == std::string_view::npos) wrong("expected four hexadecimal digits");
      code = code << 4 | static_cast<unsigned>(digit);
    }
    return code;
  }

  std::string read_number() {
    const size_t begin = at_;
    if (text_[at_] == '-') ++at_;
    const bool zero = at_ < text_.size() && text_[at_] == '0';
    const size_t whole = skip_digits();
    if (whole == 0 || (zero && whole > 1)) wrong("expected a number");
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      if (skip_digits() == 0) wrong("expected a digit");
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      if (skip_digits() == 0) wrong("expected a digit");
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  size_t skip_digits() {
    const size_t begin = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    return at_ - begin;
  }

  void read_word(JsonValue& value) {
    for (const std::string_view word : {"true", "false", "null"}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      if (word != "null") value.kind = JsonValue::Kind::boolean;
      value.text = word;
      return;
    }
    wrong("expected a value");
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t line_ = 1;
};

}  // namespace

const char* name_of(JsonValue::Kind kind) {
  switch (kind) {
    case JsonValue::Kind::null:
      return "null";
    case JsonValue::Kind::boolean:
      return "a boolean";
    case JsonValue::Kind::number:
      return "a number";
    case JsonValue::Kind::string:
      return "a string";
    case JsonValue::Kind::array:
      return "an array";
    case JsonValue::Kind::object:
      return "an object";
  }
  return "";
}

JsonValue parse_json(std::string_view text) { return Reader(text).read(); }

}  // namespace sparsecoll
