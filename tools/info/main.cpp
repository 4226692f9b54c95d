// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// sparsecoll-info: what the library is, and what it finds where it runs.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "build.hpp"
#include "common/nearest_word.hpp"
#include "ranks.hpp"
#include "report.hpp"

using namespace sparsecoll::info;

namespace {

constexpr const char* kUsage = R"(usage: sparsecoll-info [--json]
       LAUNCHER sparsecoll-info --ranks [--transport mpi|ucx] [--json]
Says what this build of sparsecoll is, what it finds on this machine, and what its environment
variables mean and are set to.
  --ranks           compares the processes of a launcher and lets them sum a vector:
                      mpirun -n 4 sparsecoll-info --ranks
                      perf/launch -n 4 sparsecoll-info --ranks
  --transport NAME  how these send: mpi, ucx; without it as the launcher says
  --json            writes JSON
  --version         writes the version
  -h, --help        writes this
Examples:
  sparsecoll-info
  SPARSECOLL_THREADS=4 sparsecoll-info --json
  mpirun -n 4 sparsecoll-info --ranks
exit status: 0; 1 if an init fails here, or the ranks cannot work together; 2 if the options are wrong
)";

struct Options {
  bool help = false, version = false, json = false, ranks = false;
  Transport transport = Transport::of_launcher;
};

/// Throws std::invalid_argument.
Options parse(int count, char** arguments) {
  Options options;
  const std::map<std::string, bool*> flags{{"-h", &options.help},
                                           {"--help", &options.help},
                                           {"--version", &options.version},
                                           {"--json", &options.json},
                                           {"--ranks", &options.ranks}};
  const std::map<std::string, Transport> transports{{"mpi", Transport::mpi},
                                                    {"ucx", Transport::ucx}};
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (const auto flag = flags.find(argument); flag != flags.end()) {
      *flag->second = true;
    } else if (argument == "--transport") {
      const std::string name = i + 1 < count ? arguments[++i] : "";
      const auto found = transports.find(name);
      if (found == transports.end())
        throw std::invalid_argument("--transport: expected mpi or ucx, got '" + name + "'");
      options.transport = found->second;
    } else {
      std::vector<std::string> names{"--transport"};
      for (const auto& known : flags) names.push_back(known.first);
      throw std::invalid_argument(sparsecoll::perf::unknown_option(argument, names));
    }
  }
  if (options.transport != Transport::of_launcher && !options.ranks)
    throw std::invalid_argument("--transport: expected --ranks beside it");
  return options;
}

/// UCX would write warnings, of ranks that leave for example, between the lines of the report. It
/// reads the variable when it is loaded. If the library of MPI has already loaded it, the program
/// starts again.
void send_warnings_of_ucx_to_stderr(char** arguments) {
  if (getenv("UCX_LOG_FILE")) return;
  setenv("UCX_LOG_FILE", "stderr", 0);
  if (dlopen("libucs.so.0", RTLD_LAZY | RTLD_NOLOAD)) execv("/proc/self/exe", arguments);
}

int run(const Options& options) {
  const Json found = options.ranks ? compare_ranks(options.transport) : make_report();
  if (found.is_null()) return 0;  // rank 0 writes
  if (options.json)
    std::puts(json_text(found).c_str());
  else
    std::fputs((options.ranks ? text_of_ranks(found) : text_of(found)).c_str(), stdout);
  const bool good =
      options.ranks ? found["canWorkTogether"].get<bool>() : found["problem"].is_null();
  return good ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  try {
    options = parse(count, arguments);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "sparsecoll-info: %s\n%s", error.what(), kUsage);
    return 2;
  }
  try {
    if (options.help)
      std::fputs(kUsage, stdout);
    else if (options.version)
      std::puts(build().version.c_str());
    else {
      send_warnings_of_ucx_to_stderr(arguments);
      return run(options);
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sparsecoll-info: %s\n", error.what());
    return 1;
  }
}
