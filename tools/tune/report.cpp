// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <sparsecoll/sparsecoll.h>

#include <algorithm>
#include <cstdio>

#include "common/machine.hpp"

namespace sparsecoll::tune {

namespace {

/// Formats like printf().
template <class... Values>
std::string format(const char* how, Values... values) {
  char text[400];
  std::snprintf(text, sizeof text, how, values...);
  return text;
}

std::string milliseconds(double seconds) {
  return format(seconds < 0.1 ? "%.3f" : "%.1f", seconds * 1e3);
}

std::string percent(double density) { return format("%.3g%%", density * 100); }

std::string ranks_in_words(int ranks) {
  return std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks");
}

Json row_of(const Prediction& row) {
  Json json{{"density", row.density},     {"k", row.k},
            {"algorithm", row.algorithm}, {"exchangeSeconds", row.exchange},
            {"localSeconds", row.local},  {"callSeconds", row.call()},
            {"denseSeconds", row.dense},  {"speedUp", row.speed_up()}};
  if (row.measured) json["measuredSeconds"] = *row.measured;
  return json;
}

Json number_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

std::string header_of(const Measured& measured, const Predictor& predictor) {
  const Network& network = predictor.network();
  std::string text = "sparsecoll " + perf::library_version() + ", " +
                     ranks_in_words(measured.ranks) + " over " +
                     (measured.transport == "local" ? "threads" : measured.transport) + " on " +
                     measured.placement + "\n";
  text += format("network: %.3g us a message, %.3g Gbit/s for each rank (%s); %.3g ns an entry\n",
                 network.alpha * 1e6, 8e-9 / network.beta, predictor.source(),
                 measured.entry_seconds * 1e9);
  if (std::string(predictor.source()) == "assumed")
    text +=
        "  A single rank has no network to measure. Start it by mpirun or perf/launch, or use "
        "--rate "
        "and --latency.\n";
  for (const auto& [count, seconds] : measured.dense)
    text += format("%s of %zu values: %s ms\n", measured.dense_name.c_str(), count,
                   milliseconds(seconds).c_str());
  return text;
}

std::string table_of(const Advice& advice, const std::string& dense_name) {
  const bool checked = advice.dense_measured.has_value();
  std::string text =
      "   density          k  algorithm     exchange  selection      call     dense  speed-up";
  text += checked ? "  measured  speed-up\n" : "\n";
  for (const Prediction& row : advice.rows) {
    text += format("%10s %10zu  %-12s %9s  %9s %9s %9s %8.2fx", percent(row.density).c_str(), row.k,
                   row.algorithm.c_str(), milliseconds(row.exchange).c_str(),
                   milliseconds(row.local).c_str(), milliseconds(row.call()).c_str(),
                   milliseconds(row.dense).c_str(), row.speed_up());
    if (checked && row.measured)
      text += format(" %9s %8.2fx", milliseconds(*row.measured).c_str(),
                     *advice.dense_measured / *row.measured);
    text += '\n';
  }
  return text + conclusion_of(advice, dense_name);
}

}  // namespace

std::string conclusion_of(const Advice& advice, const std::string& dense_name) {
  if (!advice.break_even)
    return "  Does not pay: " + dense_name + " is faster at all of these densities.\n";
  std::string text = "  Pays at densities up to " + percent(*advice.break_even);
  const char* separator = " except ";
  for (const Prediction& row : advice.rows) {
    if (row.density > *advice.break_even || row.speed_up() >= 1) continue;
    text += separator + percent(row.density);
    separator = ", ";
  }
  if (advice.rows.back().speed_up() >= 1) text += ", and perhaps above";
  const auto best = std::ranges::max_element(advice.rows, {}, &Prediction::speed_up);
  return text + format("; at %s expect %.3g times the speed of %s.\n",
                       percent(best->density).c_str(), best->speed_up(), dense_name.c_str());
}

Json json_of(const Measured& measured, const Predictor& predictor,
             const std::vector<Advice>& advice) {
  const Network& network = predictor.network();
  Json json{{"program", "sparsecoll-tune"},
            {"version", perf::library_version()},
            {"measuredRanks", measured.ranks},
            {"ranks", predictor.ranks()},
            {"transport", measured.transport},
            {"placement", measured.placement},
            {"network",
             {{"source", predictor.source()},
              {"latencySeconds", network.alpha},
              {"bitsPerSecond", 8 / network.beta},
              {"secondsPerEntry", measured.entry_seconds}}}};
  Json& dense = json["dense"] = {{"name", measured.dense_name},
                                 {"source", predictor.dense_is_measured() ? "measured" : "model"},
                                 {"times", Json::array()}};
  for (const auto& [count, seconds] : measured.dense)
    dense["times"].push_back({{"count", count}, {"seconds", seconds}});
  json["selection"] = Json::array();
  for (const auto& [density, timed] : measured.local)
    json["selection"].push_back(
        {{"count", timed.count}, {"density", density}, {"seconds", timed.seconds}});
  json["advice"] = Json::array();
  for (const Advice& each : advice) {
    Json one{{"count", each.count},
             {"breakEvenDensity", number_or_null(each.break_even)},
             {"measuredDenseSeconds", number_or_null(each.dense_measured)},
             {"rows", Json::array()}};
    for (const Prediction& row : each.rows) one["rows"].push_back(row_of(row));
    json["advice"].push_back(std::move(one));
  }
  return json;
}

std::string text_of(const Measured& measured, const Predictor& predictor,
                    const std::vector<Advice>& advice) {
  std::string text = header_of(measured, predictor);
  const std::string dense =
      predictor.dense_is_measured() ? measured.dense_name : "a dense allreduce, by the cost model";
  for (const Advice& each : advice)
    text +=
        format("\n%zu values, %s; times in ms, dense: %s\n", each.count,
               ranks_in_words(predictor.ranks()).c_str(), dense.c_str()) +
        table_of(each, predictor.dense_is_measured() ? measured.dense_name : "a dense allreduce");
  return text;
}

}  // namespace sparsecoll::tune
