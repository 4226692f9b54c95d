// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/json.hpp"

#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "core/error.hpp"

namespace sparsecoll {

namespace {

constexpr size_t kDeepest = 32;

/// The line of the last character that was read. A newline belongs to the line that it ends, so a
/// parser that reads one character past a number still is on the number's line.
struct LineCounter {
  size_t line = 1;
  bool ended = false;  ///< the last character was a newline

  void read(char c) {
    if (ended) ++line;
    ended = c == '\n';
  }
};

/// Reads a text and counts its lines.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, LineCounter& lines) : at_(at), lines_(&lines) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    lines_->read(*at_++);
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  LineCounter* lines_;
};

/// Makes a JsonValue of the parser's events.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(const LineCounter& lines) : lines_(lines) {}

  JsonValue take_root() { return std::move(root_); }

  bool null() override { return add(JsonValue::Kind::null, "null"); }
  bool boolean(bool value) override {
    return add(JsonValue::Kind::boolean, value ? "true" : "false");
  }
  bool number_integer(number_integer_t value) override {
    return add(JsonValue::Kind::number, std::to_string(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return add(JsonValue::Kind::number, std::to_string(value));
  }
  bool number_float(number_float_t, const string_t& written) override {
    return add(JsonValue::Kind::number, written);
  }
  bool string(string_t& value) override { return add(JsonValue::Kind::string, std::move(value)); }
  bool binary(binary_t&) override { return false; }  // No JSON text has binary values.

  bool start_object(size_t) override { return start(JsonValue::Kind::object); }
  bool end_object() override { return end(); }
  bool start_array(size_t) override { return start(JsonValue::Kind::array); }
  bool end_array() override { return end(); }
  bool key(string_t& name) override {
    if (!open_.back().keys.insert(name).second) wrong(text("the key '", name, "' comes twice"));
    open_.back().value->members.push_back({std::move(name), lines_.line, {}});
    return true;
  }

  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) override {
    // The message begins with "[the library's number] parse error at line 1, column 2: ".
    const std::string_view message = error.what();
    const size_t position = message.find("column ");
    const size_t end = message.find(position == std::string_view::npos ? "] " : ": ",
                                    position == std::string_view::npos ? 0 : position);
    wrong(std::string(end == std::string_view::npos ? message : message.substr(end + 2)));
  }

 private:
  /// An object or array whose end was not read yet.
  struct OpenValue {
    JsonValue* value;
    std::unordered_set<std::string> keys;  ///< the keys of an object
  };

  [[noreturn]] void wrong(const std::string& what) const {
    fail(sparsecollInvalidArgument, "line ", lines_.line, ": ", what);
  }

  /// Adds a value to the innermost open one. Its address is valid until the next one is added.
  JsonValue& append(JsonValue value) {
    value.line = lines_.line;
    if (open_.empty()) return root_ = std::move(value);
    JsonValue& parent = *open_.back().value;
    if (parent.kind == JsonValue::Kind::array) {
      parent.items.push_back(std::move(value));
      return parent.items.back();
    }
    return parent.members.back().value = std::move(value);
  }

  bool add(JsonValue::Kind kind, std::string written) {
    JsonValue value;
    value.kind = kind;
    value.text = std::move(written);
    if (open_.size() >= kDeepest) wrong("values are nested too deep");
    append(std::move(value));
    return true;
  }

  bool start(JsonValue::Kind kind) {
    if (open_.size() >= kDeepest) wrong("values are nested too deep");
    JsonValue value;
    value.kind = kind;
    open_.push_back({&append(std::move(value)), {}});
    return true;
  }

  bool end() {
    open_.pop_back();
    return true;
  }

  const LineCounter& lines_;
  JsonValue root_;
  std::vector<OpenValue> open_;  ///< the innermost one last
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

JsonValue parse_json(std::string_view text) {
  LineCounter lines;
  Builder builder(lines);
  nlohmann::json::sax_parse(CountingIterator(text.data(), lines),
                            CountingIterator(text.data() + text.size(), lines), &builder);
  return builder.take_root();
}

}  // namespace sparsecoll
