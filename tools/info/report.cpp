// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// The library, its transports and its variables.
#include "report.hpp"

#include <dlfcn.h>

#include <cstdlib>

#include "api/variables.hpp"
#include "build.hpp"
#include "core/environment.hpp"
#include "core/error.hpp"
#include "transport/ucx/transport.hpp"

namespace sparsecoll::info {

namespace {

Json object_of(const Pairs& pairs) {
  Json object = Json::object();
  for (const auto& [key, value] : pairs) object[key] = value;
  return object;
}

bool has(const char* option) {
  for (const auto& [key, value] : build().options)
    if (key == option) return value == "ON";
  return false;
}

/// Returns "2.28.3" of the version that NCCL encodes as 22803.
std::string nccl_version(int number) {
  return text(number / 10000, '.', number / 100 % 100, '.', number % 100);
}

Json nccl() {
  Json transport{{"name", "nccl"}, {"built", has("SPARSECOLL_NCCL")}};
  if (!has("SPARSECOLL_NCCL")) {
    transport["problem"] = "this library was built without NCCL";
    return transport;
  }
  // The library never loads an NCCL: it uses the one with which the program made its communicator.
  void* const library = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_LOCAL);
  const auto version =
      library ? reinterpret_cast<int (*)(int*)>(dlsym(library, "ncclGetVersion")) : nullptr;
  int number = 0;
  if (version && version(&number) == 0)
    transport["version"] = nccl_version(number);
  else
    transport["problem"] = text("no NCCL here: ", dlerror());
  return transport;
}

Json shared_library(const std::string& name, const char* symbol) {
  Json result{{"name", name}};
  void* const library = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  void* const function = library ? dlsym(library, symbol) : nullptr;
  Dl_info where{};
  if (!function || !dladdr(function, &where)) {
    result["problem"] = dlerror();
    return result;
  }
  result["file"] = where.dli_fname;
  return result;
}

std::string in_dots(int version) {
  return text(version / 10000, '.', version / 100 % 100, '.', version % 100);
}

}  // namespace

Json transports() {
  Json all = Json::array();
  all.push_back({{"name", "threads"}, {"built", true}, {"version", in_dots(SPARSECOLL_VERSION)}});
  Json mpi{{"name", "mpi"}, {"built", has("SPARSECOLL_MPI")}};
  if (const auto version = mpi_version())
    mpi["version"] = *version;
  else
    mpi["problem"] = "this library was built without MPI";
  all.push_back(mpi);
  Json ucx{{"name", "ucx"}, {"built", has("SPARSECOLL_UCX")}};
  try {
    ucx["version"] = ucx_version();
  } catch (const Error& error) {
    ucx["problem"] = error.what();
  }
  all.push_back(ucx);
  all.push_back(nccl());
  return all;
}

Json shared_libraries() {
  const std::string ending = ".so." + build().soname;
  Json all = Json::array();
  Json plain = shared_library("libsparsecoll" + ending, "sparsecollGetVersion");
  if (!plain.contains("problem")) {
    void* const library = dlopen(plain["name"].get<std::string>().c_str(), RTLD_LAZY);
    const auto get =
        reinterpret_cast<decltype(&sparsecollGetVersion)>(dlsym(library, "sparsecollGetVersion"));
    int version = 0;
    get(&version);
    plain["version"] = in_dots(version);
    if (version != SPARSECOLL_VERSION)
      plain["problem"] = text("another version than this program's, ", build().version);
  }
  all.push_back(plain);
  if (has("SPARSECOLL_MPI"))
    all.push_back(shared_library("libsparsecoll_mpi" + ending, "sparsecollCommInitMpi"));
  return all;
}

Json instructions(const Config& config) {
  Json available = Json::array();
  const Variable& levels = variable("SPARSECOLL_SIMD");
  std::string used;
  for (const Word& word : levels.words) {
    const auto level = static_cast<host::Simd>(word.value);
    if (word.value == kAutoWord || !host::find_filters(level)) continue;
    available.push_back(word.name);
    if (level == config.simd.value_or(host::best_simd())) used = word.name;
  }
  return {{"inUse", used}, {"available", available}};
}

Json variables(const CheckedConfig& checked) {
  Json all = Json::array();
  for (const Variable& each : sparsecoll::variables()) {
    const auto got = environment(each.name);
    Json one{{"name", each.name},
             {"value", got ? Json(*got) : Json()},
             {"source", got ? "environment" : "default"},
             {"default", each.otherwise},
             {"values", values_of(each)},
             {"meaning", each.meaning},
             {"overrides", each.overrides},
             {"ranksMustAgree", each.agreed}};
    try {
      if (each.is_number())
        chosen_number<uint64_t>(each.name);
      else if (!each.words.empty())
        chosen_word(each.name, 0);
      if (got && checked.problem && std::string(checked.problem->what()).starts_with(each.name))
        throw Error(*checked.problem);  // such as a file that is not there
    } catch (const Error& error) {
      one["problem"] = error.what();
    }
    all.push_back(one);
  }
  return all;
}

void write_no_files() {
  for (const char* name :
       {"SPARSECOLL_TIMELINE", "SPARSECOLL_FLIGHT_RECORDER", "SPARSECOLL_FLIGHT_SIGNAL"})
    unsetenv(name);
}

Json make_report() {
  const CheckedConfig checked = check_config(nullptr);
  const Json all_variables = variables(checked);
  write_no_files();
  Json report;
  report["version"] = build().version;
  report["sharedLibraries"] = shared_libraries();
  report["build"] = {{"type", build().type},
                     {"system", build().system},
                     {"compilers", object_of(build().compilers)},
                     {"options", object_of(build().options)},
                     {"headers", object_of(build().headers)}};
  report["transports"] = transports();
  report["instructions"] = instructions(checked.config);
  report["processors"] = processors(checked.config, !checked.problem);
  report["machine"] = machine();
  report["topology"] = topology(checked.config);
  report["devices"] = devices();
  report["interfaces"] = interfaces();
  report["variables"] = all_variables;
  report["problem"] = checked.problem ? Json(checked.problem->what()) : Json();
  return report;
}

}  // namespace sparsecoll::info
