// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Parses the strings of a topology file: patterns of hosts, rates, latencies.
#include <charconv>
#include <cmath>

#include "api/topology_tree.hpp"
#include "core/error.hpp"
#include "core/whole_number.hpp"

namespace sparsecoll {

namespace {

struct Unit {
  const char* name;
  double factor;
};

/// Returns the number in front of a unit, times the unit's factor; a negative number if the text is
/// not valid.
template <size_t N>
double number_with_unit(const std::string& text, const Unit (&units)[N]) {
  double number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return -1;
  const std::string unit(end, text.data() + text.size());
  for (const Unit& each : units)
    if (unit == each.name) return number * each.factor;
  return -1;
}

/// Converts the digits of a number in a bracket of `pattern`.
uint64_t number_in(const std::string& pattern, const std::string& digits) {
  const auto number = whole_number<uint64_t>(digits);
  if (!number)
    fail(sparsecollInvalidArgument, "expected numbers such as [0-3,7] in '", pattern, "', got '",
         digits, "'");
  return *number;
}

/// Returns the numbers for which the inside of a bracket stands, with as many digits as the first
/// one.
std::vector<std::string> numbers_of(const std::string& pattern, const std::string& inside,
                                    size_t most) {
  std::vector<std::string> numbers;
  for (size_t at = 0; at <= inside.size();) {
    const size_t comma = std::min(inside.find(',', at), inside.size());
    const std::string part = inside.substr(at, comma - at);
    const size_t dash = std::min(part.find('-'), part.size());
    const std::string low = part.substr(0, dash);
    const uint64_t first = number_in(pattern, low);
    const uint64_t last = dash < part.size() ? number_in(pattern, part.substr(dash + 1)) : first;
    if (last < first)
      fail(sparsecollInvalidArgument, "expected ascending numbers in '", pattern, "', got ", first,
           "-", last);
    if (last - first >= most || numbers.size() + (last - first) >= most)
      fail(sparsecollInvalidArgument, "'", pattern, "' names more than ", most, " hosts");
    for (uint64_t number = first; number <= last; ++number) {
      const std::string digits = std::to_string(number);
      numbers.push_back(
          std::string(low.size() > digits.size() ? low.size() - digits.size() : 0, '0') + digits);
    }
    at = comma + 1;
  }
  return numbers;
}

}  // namespace

std::vector<std::string> expand_hosts(const std::string& pattern, size_t most) {
  std::vector<std::string> hosts{""};
  for (size_t at = 0; at < pattern.size();) {
    const size_t open = std::min(pattern.find('[', at), pattern.size());
    const std::string fixed = pattern.substr(at, open - at);
    if (fixed.find_first_of("], \t") != std::string::npos)
      fail(sparsecollInvalidArgument, "expected a host's name, got '", pattern, "'");
    for (std::string& host : hosts) host += fixed;
    if (open == pattern.size()) break;
    const size_t close = pattern.find(']', open);
    if (close == std::string::npos)
      fail(sparsecollInvalidArgument, "expected ']' in '", pattern, "'");
    const auto numbers = numbers_of(pattern, pattern.substr(open + 1, close - open - 1), most);
    if (hosts.size() * numbers.size() > most)
      fail(sparsecollInvalidArgument, "'", pattern, "' names more than ", most, " hosts");
    std::vector<std::string> longer;
    for (const std::string& host : hosts)
      for (const std::string& number : numbers) longer.push_back(host + number);
    hosts = std::move(longer);
    at = close + 1;
  }
  if (pattern.empty()) fail(sparsecollInvalidArgument, "expected a host's name, got ''");
  return hosts;
}

double parse_rate(const std::string& text) {
  constexpr Unit kUnits[] = {{"bit/s", 1.0 / 8},
                             {"kbit/s", 1e3 / 8},
                             {"Mbit/s", 1e6 / 8},
                             {"Gbit/s", 1e9 / 8},
                             {"Tbit/s", 1e12 / 8}};
  const double rate = number_with_unit(text, kUnits);
  if (!(rate > 0))
    fail(sparsecollInvalidArgument,
         "expected a rate above 0 in bit/s, kbit/s, Mbit/s, Gbit/s or Tbit/s, got '", text, "'");
  return rate;
}

double parse_latency(const std::string& text) {
  constexpr Unit kUnits[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
  const double seconds = number_with_unit(text, kUnits);
  if (!(seconds >= 0))
    fail(sparsecollInvalidArgument, "expected a latency in ns, us, ms or s, got '", text, "'");
  return seconds;
}

}  // namespace sparsecoll
