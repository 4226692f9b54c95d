// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "calls/flight_recorder.hpp"
#include "core/error.hpp"
#include "core/timeline.hpp"

namespace sparsecoll {

/// The reason for a flight record: a fatal error, sparsecollCommDump or SPARSECOLL_FLIGHT_SIGNAL.
enum class FlightRecordCause { failure, dump, signal };

/// The head of a flight record, which comes before its calls.
struct FlightRecordHead {
  Timeline::Owner owner;
  FlightRecordCause cause;
  std::optional<Error> error;  ///< what poisoned the communicator; none: it is healthy
};

/// Returns the name of the owner's record. It is formed like that of a timeline; .json is appended
/// to a pattern that does not end with it.
std::string flight_record_of(const std::string& pattern, const Timeline::Owner& owner);

/// Writes the recorded calls of a rank as JSON, which tools/sparsecoll-blame reads. Replaces the
/// file. Throws InvalidArgument if there is something other than a regular file, SystemError.
void write_flight_record(const FlightRecorder& recorder, const FlightRecordHead& head,
                         const std::string& file);

}  // namespace sparsecoll
