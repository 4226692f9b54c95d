// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Measures plain messages of MPI between the ranks' hosts, without the library. These times show
// what the network can do.
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/command_line.hpp"
#include "common/machine.hpp"
#include "common/record.hpp"
#include "common/report.hpp"
#include "common/timing.hpp"

namespace {

using namespace sparsecoll::perf;

struct LinkOptions {
  Options run;
  std::size_t bytes = std::size_t{4} << 20;
  double rate = 0;          ///< expected rate of the links in Mbit/s; 0: not known
  double min_percent = 80;  ///< percentage of `rate` that long messages must reach
};

/// Messages that are sent at the same time.
struct Pattern {
  std::string name;
  std::vector<std::pair<int, int>> messages;  ///< from, to
  int links = 1;                              ///< messages in the busiest direction of a link
  bool between_hosts = true;                  ///< false: all ranks are on one host
  bool one_link = true;  ///< one link limits the rate, not the machine that carries all links
};

/// Returns patterns between the first ranks of all hosts, and one between two ranks of rank 0's
/// host. Collective.
std::vector<Pattern> patterns(Ranks& ranks) {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, ranks.rank(), MPI_INFO_NULL, &host);
  int on_host = 0;
  MPI_Comm_rank(host, &on_host);
  MPI_Comm_free(&host);
  const std::vector<int> on_hosts = ranks.gather_value(on_host);
  std::vector<int> others;
  for (int r = 1; r < ranks.size(); ++r) {
    if (on_hosts[static_cast<std::size_t>(r)] == 0) others.push_back(r);
  }
  std::vector<Pattern> all;
  if (ranks.size() > 1 && on_hosts[1] == 1) all.push_back({"same host", {{0, 1}}, 1, false});
  if (others.empty()) return all;
  const int peer = others.front();
  all.push_back({"one way", {{0, peer}}});
  // There is no pattern of two ranks that send to each other: Open MPI's acknowledgement of one
  // message waits behind the bytes of the other message.
  Pattern ring{"ring", {{0, peer}}, 1, true, false};
  for (std::size_t i = 0; i < others.size(); ++i) {
    ring.messages.emplace_back(others[i], i + 1 < others.size() ? others[i + 1] : 0);
  }
  if (others.size() > 1) all.push_back(ring);
  Pattern in{"all to one", {}, static_cast<int>(others.size())};
  Pattern out{"one to all", {}, static_cast<int>(others.size())};
  for (const int r : others) {
    in.messages.emplace_back(r, 0);
    out.messages.emplace_back(0, r);
  }
  if (others.size() > 1) all.insert(all.end(), {in, out});
  return all;
}

/// Sends and receives this rank's messages of the pattern, all at once.
void send_all(const Pattern& pattern, int rank, std::vector<std::vector<char>>& buffers) {
  std::vector<MPI_Request> requests;
  buffers.resize(pattern.messages.size(), std::vector<char>(buffers.front().size()));
  for (std::size_t m = 0; m < pattern.messages.size(); ++m) {
    const auto [from, to] = pattern.messages[m];
    if (rank != from && rank != to) continue;
    const int count = static_cast<int>(buffers[m].size());
    requests.push_back(MPI_REQUEST_NULL);
    if (rank == from) {
      MPI_Isend(buffers[m].data(), count, MPI_CHAR, to, 1, MPI_COMM_WORLD, &requests.back());
    } else {
      MPI_Irecv(buffers[m].data(), count, MPI_CHAR, from, 1, MPI_COMM_WORLD, &requests.back());
    }
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

class LinkBench {
 public:
  LinkBench(const LinkOptions& options, Ranks& ranks)
      : options_(options),
        ranks_(ranks),
        machine_(describe_machine(ranks)),
        table_({{"pattern", "", 10},
                {"bytes", "a message", 10},
                {"time min", "(us)", 10},
                {"median", "(us)", 10},
                {"rate best", "(Mbit/s)", 10},
                {"median", "(Mbit/s)", 10},
                {"of asked", "(%)", 9}},
               ranks.rank() != 0),
        json_(ranks.rank() == 0 ? options.run.json : "") {}

  int run() {
    table_.comment("link_perf  (" + mpi_version() + ")  " + std::to_string(ranks_.size()) +
                   " ranks on " + std::to_string(machine_.hosts) + " hosts: " + machine_.placement);
    table_.comment("rate: through the busiest link, one direction, payload only");
    table_.titles();
    for (const Pattern& pattern : patterns(ranks_)) {
      // Three sizes: a word; as much as a token bucket may let through at once; and a message that
      // fills the link.
      for (const std::size_t bytes : {std::size_t{8}, std::size_t{64} << 10, options_.bytes})
        measure_pattern(pattern, bytes);
    }
    return conclude(table_, options_.rate > 0 ? std::optional(wrong_) : std::nullopt);
  }

 private:
  void measure_pattern(const Pattern& pattern, std::size_t bytes) {
    std::vector<std::vector<char>> buffers(1, std::vector<char>(bytes));
    const auto rest = [] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
    const Times times =
        measure(ranks_, options_.run, rest, [&] { send_all(pattern, ranks_.rank(), buffers); });
    const double bits = 8.0 * static_cast<double>(bytes) * pattern.links;
    const double best = bits / times.minimum * 1e-6, median = bits / times.median * 1e-6;
    const bool asked = options_.rate > 0 && pattern.between_hosts;
    if (asked && bytes == options_.bytes) {
      // A link must be neither slower than expected nor unlimited. After a pause a message may find
      // the token bucket full, and be faster; the median message does not.
      const bool slow = pattern.one_link && best / options_.rate * 100 < options_.min_percent;
      const bool fast = median / options_.rate * 100 > 102;
      wrong_ += slow || fast ? 1 : 0;
    }
    table_.row({pattern.name, std::to_string(bytes), number(times.minimum * 1e6),
                number(times.median * 1e6), number(best), number(median),
                asked ? number(best / options_.rate * 100) : "-"});
    nlohmann::ordered_json row = run_json(options_.run, machine_, ranks_.size());
    row["experiment"] = "link";
    row["pattern"] = pattern.name;
    row["messages_on_busiest_link"] = pattern.links;
    row["bytes"] = bytes;
    row["time_min_us"] = times.minimum * 1e6;
    row["time_median_us"] = times.median * 1e6;
    row["rate_mbit"] = best;
    row["rate_median_mbit"] = median;
    row["asked_mbit"] = options_.rate;
    json_.write(row);
  }

  const LinkOptions& options_;
  Ranks& ranks_;
  Machine machine_;
  Table table_;
  JsonFile json_;
  std::size_t wrong_ = 0;
};

constexpr const char* kExamples = R"(
  mpirun -n 8 --map-by node link_perf
  perf/netlab run --nodes 4 --rate 1gbit -- link_perf --rate 1000 --least 80)";

std::optional<LinkOptions> parse_links(int argc, char** argv, int* status) {
  LinkOptions options;
  options.run.program = "link_perf";
  options.run.transport = "mpi";
  options.run.iterations = 7;
  options.run.warmup = 2;
  CLI::App app("Rates and times of plain messages between the ranks' hosts.", "link_perf");
  app.add_option("--bytes", options.bytes, "size of a long message (K, M, G)")
      ->transform(size_value())
      ->default_str("4M");
  app.add_option("--rate", options.rate,
                 "expected rate of the links in Mbit/s; the exit status is 1 if long messages over "
                 "one link reach less than --least or more than 102 per cent of it")
      ->check(CLI::Range(0.001, 1e6));
  app.add_option("--least", options.min_percent)
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  app.add_option("-n,--iters", options.run.iterations, "timed repetitions")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("-w,--warmup_iters", options.run.warmup, "repetitions before the timed ones")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  app.add_option("-J,--output_file", options.run.json,
                 "write the rows as JSON, one object per line");
  if (!parse_command_line(
          app, argc, argv, kExamples, [] {}, status))
    return std::nullopt;
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  int status = 0;
  const std::optional<LinkOptions> options = parse_links(argc, argv, &status);
  if (!options) return status;
  return launch({"mpi"}, [&](Ranks& ranks) { return LinkBench(*options, ranks).run(); });
}
