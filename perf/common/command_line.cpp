// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/command_line.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <vector>

#include "common/nearest_word.hpp"

namespace sparsecoll::perf {
namespace {

using Units = std::map<std::string, double>;

/// Accepts a number with one of these units, such as "1.5gbit", and replaces it by the product.
CLI::Validator with_unit(const Units& units, const std::string& example) {
  CLI::Validator value(example);
  value.operation([units, example](std::string& given) -> std::string {
    std::size_t end = 0;
    double number = 0;
    try {
      number = std::stod(given, &end);
    } catch (const std::exception&) {
      return "expected a number and a unit, as in " + example + ", got " + given;
    }
    const auto unit = units.find(given.substr(end));
    if (unit == units.end() || !(number >= 0) || number * unit->second > 1e300)
      return "expected a number and a unit, as in " + example + ", got " + given;
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", number * unit->second);
    given = text;
    return "";
  });
  return value;
}

/// Returns "--density" and "-b", "--minbytes" and so on of all options.
std::vector<std::string> names_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::string explain(const CLI::App* app, const CLI::Error& error) {
  std::string what = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error)) {
    const std::vector<std::string> extras = app->remaining();
    const auto option =
        std::ranges::find_if(extras, [](const std::string& word) { return word.starts_with('-'); });
    if (option != extras.end()) what = unknown_option(*option, names_of(*app));
  }
  return app->get_name() + ": " + what + "\nRun with --help for the options.\n";
}

}  // namespace

bool parse_command_line(CLI::App& app, int argc, char** argv, const std::string& examples,
                        const std::function<void()>& complete, int* status) {
  app.set_help_flag("-h,--help", "print this");
  app.footer("Examples:" + examples);
  app.failure_message(explain);
  try {
    app.parse(argc, argv);
    complete();
  } catch (const CLI::ParseError& error) {
    *status = app.exit(error) == 0 ? 0 : 2;
    return false;
  }
  return true;
}

CLI::Validator size_value() {
  CLI::Validator value(CLI::AsSizeValue(false).get_description());
  value.operation([](std::string& given) {
    if (given.starts_with('-')) return given + " is negative";
    return CLI::AsSizeValue(false)(given);
  });
  return value;
}

CLI::Validator time_value() {
  return with_unit({{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}}, "50us");
}

CLI::Validator rate_value() {
  return with_unit({{"bit", 1}, {"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}}, "1gbit");
}

}  // namespace sparsecoll::perf
