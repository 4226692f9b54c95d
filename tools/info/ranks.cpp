// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// The ranks of a launcher: what they are, on what they agree, and whether they can work together.
#include "ranks.hpp"

#include <unistd.h>

#include <cstring>
#include <memory>
#include <vector>

#include "build.hpp"
#include "common/socket_world.hpp"
#include "core/error.hpp"
#include "core/machine.hpp"
#include "core/thread_placement.hpp"
#include "world.hpp"

namespace sparsecoll::info {

namespace {

/// The processes of perf/launch and torchrun.
class LaunchedWorld final : public World {
 public:
  int rank() const override { return world_.rank(); }
  int size() const override { return world_.size(); }
  std::vector<std::string> allgather(const std::string& mine) override {
    std::vector<std::string> texts;
    for (const auto& bytes : world_.allgather(std::as_bytes(std::span(mine))))
      texts.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return texts;
  }
  sparsecollResult_t connect(sparsecollComm_t* comm) override {
    sparsecollUniqueId id{};
    if (rank() == 0 && sparsecollGetUniqueId(&id) != sparsecollSuccess)
      id = {};  // which no rank accepts; rank 0 has the reason
    const std::string first = allgather(std::string(id.internal, sizeof id.internal)).front();
    std::memcpy(id.internal, first.data(), sizeof id.internal);
    return sparsecollCommInitRank(comm, size(), id, rank(), nullptr);
  }
  std::string transport() const override { return "ucx"; }

 private:
  perf::SocketWorld world_;
};

std::unique_ptr<World> connect(Transport transport) {
  if (transport != Transport::mpi && perf::SocketWorld::is_launched())
    return std::make_unique<LaunchedWorld>();
  return world_of_mpi(transport == Transport::ucx);
}

/// Returns what this rank tells the others before they try to work together.
Json self(const CheckedConfig& checked, const World& world) {
  Json rank{{"rank", world.rank()},        {"host", host_name()},
            {"process", getpid()},         {"version", build().version},
            {"cpus", list_of(own_cpus())}, {"instructions", instructions(checked.config)["inUse"]}};
  for (const Json& transport : transports())
    if (transport["name"] == world.transport() && transport.contains("version"))
      rank["transport"] = transport["version"];
  Json settings{{"version of the library", build().version}};
  if (rank.contains("transport")) settings["version of " + world.transport()] = rank["transport"];
  for (const auto& [name, value] : arguments_in_words(describe(checked.config)))
    if (name != "version") settings[name] = value;
  rank["settings"] = settings;
  if (checked.problem) rank["problem"] = checked.problem->what();
  return rank;
}

/// Owns a communicator. The destructor is collective.
struct Communicator {
  sparsecollComm_t handle = nullptr;
  ~Communicator() { sparsecollCommDestroy(handle); }
};

/// Sums a vector over all ranks. Returns what is wrong; nothing if it worked.
std::string try_call(sparsecollComm_t comm, int ranks) {
  constexpr size_t kCount = 4;
  constexpr int kExact = 32;  // a wire of 8 bits may round larger sums
  const std::vector<float> ones(kCount, 1);
  std::vector<float> sum(kCount);
  const sparsecollResult_t result =
      sparseAllreduce(ones.data(), sum.data(), kCount, kCount, sparsecollFloat32, sparsecollSum,
                      nullptr, comm, nullptr);
  if (result != sparsecollSuccess) return sparsecollGetLastError(comm);
  if (ranks > kExact || sum == std::vector<float>(kCount, static_cast<float>(ranks))) return "";
  return text("the sum of 1 over all ranks is ", sum.front(), ", expected ", ranks);
}

/// Returns the place of this rank in a communicator.
Json place_in(sparsecollComm_t comm) {
  sparsecollTopology_t known = SPARSECOLL_TOPOLOGY_INITIALIZER;
  if (sparsecollCommGetTopology(comm, &known) != sparsecollSuccess) return Json::object();
  Json place{{"threads", known.threads}, {"cores", known.cores}, {"numaNode", known.numaNode}};
  place["source"] = known.source;
  place["levels"] = Json::array();
  for (int level = 0; level < known.levels; ++level)
    place["levels"].push_back({{"group", known.group[level]},
                               {"groups", known.groups[level]},
                               {"ranks", known.ranks[level]}});
  return place;
}

/// Makes a communicator and calls it. Returns what this rank has found. Collective.
Json attempt(World& world) {
  Communicator comm;
  if (world.connect(&comm.handle) != sparsecollSuccess)
    return Json::object({{"problem", sparsecollGetLastError(nullptr)}});
  Json found = place_in(comm.handle);
  const std::string problem = try_call(comm.handle, world.size());
  if (!problem.empty()) found["problem"] = problem;
  return found;
}

std::vector<Json> gather(World& world, const Json& mine) {
  std::vector<Json> all;
  for (const std::string& text : world.allgather(json_text(mine))) all.push_back(Json::parse(text));
  return all;
}

/// Sorts the settings into those that all ranks have and those that differ, with the ranks of each
/// value.
void compare(const std::vector<Json>& ranks, Json& found) {
  found["agree"] = Json::object();
  found["disagree"] = Json::object();
  for (const auto& item : ranks.front()["settings"].items()) {
    Json values = Json::object();
    for (const Json& rank : ranks) {
      const Json& settings = rank["settings"];
      const auto value = settings.find(item.key());
      values[value == settings.end() ? "unknown" : value->get<std::string>()].push_back(
          rank["rank"]);
    }
    if (values.size() == 1)
      found["agree"][item.key()] = item.value();
    else
      found["disagree"][item.key()] = values;
  }
}

/// Returns why the ranks cannot work together; nothing if they can. The reason of a rank that has
/// one of its own comes before those of ranks that were told of it.
std::string reason(const std::vector<Json>& ranks, const Config& config) {
  for (const Json& rank : ranks)
    if (rank.contains("problem"))
      return text("rank ", rank["rank"], ": ", rank["problem"].get<std::string>());
  for (const Json& rank : ranks)
    if (rank["attempt"].contains("problem"))
      return text("rank ", rank["rank"], ": ", rank["attempt"]["problem"].get<std::string>());
  if (ranks.size() == 1) return warning_of_one_rank(config).value_or("");
  return "";
}

}  // namespace

Json compare_ranks(Transport transport) {
  const std::unique_ptr<World> world = connect(transport);
  const CheckedConfig checked = check_config(nullptr);
  std::vector<Json> ranks = gather(*world, self(checked, *world));
  write_no_files();
  const std::vector<Json> attempts = gather(*world, attempt(*world));
  if (world->rank() != 0) return {};
  for (size_t r = 0; r < ranks.size(); ++r) ranks[r]["attempt"] = attempts[r];
  Json found{{"transport", world->transport()}};
  compare(ranks, found);
  for (Json& rank : ranks) rank.erase("settings");
  found["ranks"] = ranks;
  const std::string why = reason(ranks, checked.config);
  found["canWorkTogether"] = why.empty();
  found["reason"] = why.empty() ? Json() : Json(why);
  return found;
}

}  // namespace sparsecoll::info
