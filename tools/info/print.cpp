// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Writes reports for people to read.
#include <cstdio>
#include <sstream>

#include "core/error.hpp"
#include "ranks.hpp"
#include "report.hpp"

namespace sparsecoll::info {

namespace {

/// Returns a value without the quotes of JSON; "unknown" for none.
std::string plain(const Json& value) {
  if (value.is_null()) return "unknown";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void line(std::ostream& out, const std::string& name, const std::string& value) {
  out << "  " << name << std::string(name.size() < 14 ? 14 - name.size() : 0, ' ') << ' ' << value
      << '\n';
}

/// Returns "value", or why there is none.
std::string value_or_problem(const Json& item, const char* key) {
  if (item.contains("problem"))
    return (item.contains(key) ? plain(item[key]) + "; " : "no: ") + plain(item["problem"]);
  return plain(item.contains(key) ? item[key] : Json());
}

/// Returns "A x, B y" of an object; "A=x B=y" with `equals`.
std::string list(const Json& object, bool equals) {
  std::string all;
  for (const auto& item : object.items())
    all += text(all.empty() ? ""
                : equals    ? " "
                            : ", ",
                item.key(), equals ? "=" : " ", plain(item.value()));
  return all;
}

void print_library(std::ostream& out, const Json& report) {
  out << "sparsecoll " << plain(report["version"]) << "\n\nLibrary\n";
  for (const Json& each : report["sharedLibraries"])
    line(out, plain(each["name"]), value_or_problem(each, "file"));
  const Json& build = report["build"];
  line(out, "build", plain(build["type"]) + ", " + plain(build["system"]));
  line(out, "compilers", list(build["compilers"], false));
  line(out, "options", list(build["options"], true));
  line(out, "built with", list(build["headers"], false));
  out << "\nTransports\n";
  for (const Json& each : report["transports"])
    line(out, plain(each["name"]), value_or_problem(each, "version"));
}

void print_processors(std::ostream& out, const Json& report) {
  const Json& own = report["processors"];
  out << "\nThis process\n";
  std::string levels;
  for (const Json& level : report["instructions"]["available"])
    levels += (levels.empty() ? "" : ", ") + plain(level);
  line(out, "instructions",
       plain(report["instructions"]["inUse"]) + " (available: " + levels + ")");
  line(out, "CPUs",
       text(plain(own["cpus"]), own["bound"].get<bool>() ? " (bound)" : " (not bound)",
            ", cores: ", plain(own["cores"]), ", NUMA node: ", plain(own["numaNode"])));
  line(out, "threads",
       text(plain(own["threads"]),
            own["threadsAreBound"].get<bool>() ? ", bound to CPUs" : ", not bound",
            "; of one rank that has these CPUs for itself"));
}

void print_machine(std::ostream& out, const Json& report) {
  const Json& machine = report["machine"];
  out << "\nMachine " << plain(machine["host"]) << '\n';
  if (machine.contains("problem")) line(out, "hwloc", plain(machine["problem"]));
  for (const Json& part : machine["parts"])
    line(out, "package " + plain(part["package"]),
         text("NUMA node ", plain(part["numaNode"]), ", L3 cache ", plain(part["l3"]), ": CPUs ",
              plain(part["cpus"]), ", cores: ", plain(part["cores"])));
  for (const Json& device : report["devices"])
    line(out, "GPU " + plain(device.value("number", Json())),
         device.contains("problem")
             ? plain(device["problem"])
             : text(plain(device["model"]), ", PCI ", plain(device["pciAddress"]), ", NUMA node ",
                    plain(device["numaNode"])));
  if (report["build"]["options"]["SPARSECOLL_CUDA"] != "ON")
    line(out, "GPUs", "this library was built without CUDA");
  else if (report["devices"].empty())
    line(out, "GPUs", "none");
  for (const Json& each : report["interfaces"]["all"])
    line(out, plain(each["name"]), plain(each["address"]));
  line(out, "ranks meet at", value_or_problem(report["interfaces"], "chosen"));
}

/// Returns "100 Mbit/s", or "no rate".
std::string rate(const Json& bits) {
  if (bits.is_null()) return "no rate";
  double value = bits.get<double>();
  const char* const units[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};
  size_t unit = 0;
  for (; value >= 1000 && unit + 1 < std::size(units); ++unit) value /= 1000;
  return text(value, ' ', units[unit]);
}

void print_topology(std::ostream& out, const Json& report) {
  const Json& topology = report["topology"];
  out << "\nTopology above the node\n";
  line(out, "source", plain(topology["source"]) == "hwloc" ? "none" : plain(topology["source"]));
  for (const char* key : {"file", "address", "pattern"})
    if (topology.contains(key)) line(out, key, plain(topology[key]));
  for (size_t level = 0; level < topology["levels"].size(); ++level) {
    const Json& each = topology["levels"][level];
    const Json& latency = each["latencySeconds"];
    line(out, text("level ", level + 1),
         text(plain(each["name"]), plain(each["name"]).empty() ? "" : ": ", plain(each["groups"]),
              " groups, ", rate(each["bitsPerSecond"]),
              latency.is_null() ? "" : text(", ", latency.get<double>() * 1e6, " us")));
  }
}

void print_variables(std::ostream& out, const Json& report) {
  out << "\nEnvironment variables\n";
  for (const Json& each : report["variables"]) {
    const bool is_set = !each["value"].is_null();
    out << "  " << plain(each["name"]) << " = " << plain(each[is_set ? "value" : "default"]) << " ("
        << plain(each["source"]) << ")\n";
    if (each.contains("problem")) out << "      wrong: " << plain(each["problem"]) << '\n';
    out << "      " << plain(each["meaning"]) << ": " << plain(each["values"]) << '\n';
    if (is_set) out << "      default: " << plain(each["default"]) << '\n';
    const std::string overridden = plain(each["overrides"]);
    if (!overridden.empty()) out << "      overrides " << overridden << '\n';
    if (each["ranksMustAgree"].get<bool>()) out << "      the same on all ranks\n";
  }
}

/// Returns "rank 5" or "ranks 0-3,5".
std::string ranks_of(const Json& numbers) {
  return (numbers.size() == 1 ? "rank " : "ranks ") + list_of(numbers.get<Cpus>());
}

/// Writes the groups of ranks on each level.
void print_levels(std::ostream& out, const Json& found) {
  const Json& first = found["ranks"][0]["attempt"];
  if (!first.contains("levels")) return;
  out << "\ntopology (" << plain(first["source"]) << ")\n";
  for (size_t level = 0; level < first["levels"].size(); ++level) {
    Json groups = Json::object();
    for (const Json& rank : found["ranks"])
      groups[plain(rank["attempt"]["levels"][level]["group"])].push_back(rank["rank"]);
    for (const auto& item : groups.items())
      out << "  " << (level == 0 ? "node " : text("group of level ", level, ' ')) << item.key()
          << ": " << ranks_of(item.value()) << '\n';
  }
}

}  // namespace

std::string json_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string text_of(const Json& report) {
  std::ostringstream out;
  print_library(out, report);
  print_processors(out, report);
  print_machine(out, report);
  print_topology(out, report);
  print_variables(out, report);
  if (!report["problem"].is_null())
    out << "\nAn init fails with these variables: " << plain(report["problem"]) << '\n';
  return out.str();
}

std::string text_of_ranks(const Json& found) {
  std::ostringstream out;
  for (const Json& rank : found["ranks"]) {
    const Json& place = rank["attempt"];
    out << "rank " << rank["rank"] << "  " << plain(rank["host"]) << "  process " << rank["process"]
        << "  CPUs " << plain(rank["cpus"]) << "  " << plain(rank["instructions"]);
    if (place.contains("threads")) out << "  threads " << place["threads"];
    if (place.contains("levels")) out << "  node " << place["levels"][0]["group"];
    out << "  sparsecoll " << plain(rank["version"]) << "  " << plain(found["transport"]) << ' '
        << plain(rank.value("transport", Json("not loaded"))) << '\n';
    for (const Json& problem : {rank.value("problem", Json()), place.value("problem", Json())})
      if (!problem.is_null()) out << "  " << plain(problem) << '\n';
  }
  print_levels(out, found);
  out << "\nthey agree on\n";
  for (const auto& item : found["agree"].items())
    out << "  " << item.key() << ": " << plain(item.value()) << '\n';
  if (!found["disagree"].empty()) out << "\nthey disagree on\n";
  for (const auto& item : found["disagree"].items())
    for (const auto& value : item.value().items())
      out << "  " << item.key() << ": " << value.key() << " on " << ranks_of(value.value()) << '\n';
  out << '\n';
  if (!found["canWorkTogether"].get<bool>())
    out << "these ranks cannot work together: " << plain(found["reason"]) << '\n';
  else if (found["ranks"].size() == 1)
    out << "this rank works; start several: mpirun -n 4 sparsecoll-info --ranks\n";
  else
    out << "these ranks can work together\n";
  return out.str();
}

}  // namespace sparsecoll::info
