// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/flight_record.hpp"

#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>

#include "api/bridge.hpp"
#include "calls/algorithm_info.hpp"
#include "core/file.hpp"
#include "core/types.hpp"

namespace sparsecoll {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kCauses{"failure", "dump", "signal"};

std::string host_name() {
  char name[256] = "";
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

/// Returns the number of microseconds since 1970 at a time of the steady clock.
int64_t unix_time(Clock::time_point time) {
  const auto ago = Clock::now() - time;
  const auto there = std::chrono::system_clock::now().time_since_epoch() - ago;
  return std::chrono::duration_cast<std::chrono::microseconds>(there).count();
}

/// Adds what the ranks agree on: sizes and type of a tensor, or the number of calls of a group.
void add_arguments(const FlightRecorder::Call& call, Json& json) {
  switch (static_cast<Verb>(call.verb)) {
    case Verb::init:
    case Verb::destroy:
    case Verb::comm_split:
    case Verb::comm_measure:
    case Verb::push_sum_step:
      return;
    case Verb::group:
      json["calls"] = call.arguments[kCalls];
      return;
    case Verb::sparse_allreduce:
    case Verb::gtopk_allreduce:
    case Verb::sparse_allreducev:
    case Verb::gtopk_allreducev:
    case Verb::sparse_alltoall:
    case Verb::sparse_reduce_scatter:
    case Verb::push_sum_create:
    case Verb::push_sum_drain:
    case Verb::push_sum_move:
    case Verb::residual_move:
      json["count"] = call.arguments[kCount];
      if (call.arguments[kK] != kAll) json["k"] = call.arguments[kK];
      if (const char* const type = name_of(static_cast<DataType>(call.arguments[kDataType])))
        json["type"] = type;
      return;
  }
}

Json json_of(const FlightRecorder::Call& call) {
  const bool failed = call.ended && call.result != sparsecollSuccess;
  Json json{{"sequence", call.sequence}, {"verb", verb_name(call.verb)}};
  add_arguments(call, json);
  if (const AlgorithmInfo* const algorithm = algorithm_info(call.algorithm);
      algorithm && call.algorithm != sparsecollAlgoAuto)
    json["algorithm"] = algorithm->name;
  json["state"] = !call.ended ? "running" : failed ? "failed" : "done";
  if (failed) json["result"] = static_cast<int>(call.result);
  json["stage"] = kStages[static_cast<size_t>(call.stage)];
  json["begin"] = unix_time(call.begin);
  json[call.ended ? "end" : "latest"] = unix_time(call.end);
  json["waits"] = call.waits;
  if (call.all_peers > 0) {
    const auto waited = (call.ended ? call.end : Clock::now()) - call.waits_since;
    json["waited"] = std::chrono::duration_cast<std::chrono::microseconds>(waited).count();
  }
  json["peers"] = call.peers;
  if (call.all_peers > call.peers.size()) json["allPeers"] = call.all_peers;
  return json;
}

}  // namespace

std::string flight_record_of(const std::string& pattern, const Timeline::Owner& owner) {
  constexpr const char* kExtension = ".json";
  return Timeline::file_name(pattern.ends_with(kExtension) ? pattern : pattern + kExtension, owner);
}

void write_flight_record(const FlightRecorder& recorder, const FlightRecordHead& head,
                         const std::string& file) {
  Json error;
  if (head.error)
    error = {{"result", static_cast<int>(head.error->code())}, {"message", head.error->what()}};
  Json calls = Json::array();
  for (const FlightRecorder::Call& call : recorder.calls()) calls.push_back(json_of(call));
  const Json json{{"flightRecord", 1},
                  {"communicator", head.owner.number},
                  {"rank", head.owner.rank},
                  {"ranks", head.owner.ranks},
                  {"worldRank", head.owner.world_rank},
                  {"host", host_name()},
                  {"process", getpid()},
                  {"time", unix_time(Clock::now())},
                  {"cause", kCauses[static_cast<size_t>(head.cause)]},
                  {"error", error},
                  {"calls", calls}};
  // A message may contain the name of a file, which need not be valid UTF-8.
  const std::string bytes = json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  FileReplacement replacement(file);
  replacement.write(std::as_bytes(std::span(bytes)));
  replacement.replace();
}

}  // namespace sparsecoll

using namespace sparsecoll;

sparsecollResult_t sparsecollCommDump(sparsecollComm_t comm, const char* path) {
  const std::shared_ptr<Communicator> communicator = communicators().find(comm);
  if (!communicator) return sparsecollInvalidArgument;
  if (communicator->is_inherited() || communicator->completions().calls_here())
    return sparsecollInvalidUsage;
  const CancellationDisabled uncancelled;
  const auto failed = [&](const Error& error) {
    return communicator->record_error("sparsecollCommDump", error);
  };
  try {
    try {
      communicator->write_flight_record(FlightRecordCause::dump, path ? path : "");
      return sparsecollSuccess;
    } catch (const Error& error) {
      return failed(error);
    } catch (const std::bad_alloc&) {
      return failed(Error(sparsecollSystemError, "out of memory"));
    }
  } catch (const std::exception&) {
    return sparsecollSystemError;  // there is no memory even for the message
  }
}
