// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sparsecoll {

/// Which call a message is of; at its very beginning, where messages travel in stream order.
struct Stamp {
  uint64_t sequence;
  uint64_t hash;  ///< of what the sender was called with
  bool operator==(const Stamp&) const = default;
};

/// A message that has come, and from whom.
struct StampedMessage {
  const std::byte* at;
  int peer;
};

/// What went wrong on a device, for the host to find: in memory that both of them see.
struct Alarm {
  enum Reason : uint64_t { nothing = 0, other_call = 1, malformed = 2 };
  uint64_t reason;
  uint64_t peer;  ///< of the other call
  Stamp got;      ///< from it
};

/// What a call in stream order has come to, in counts on the device.
struct CallCounts {
  const uint64_t* selected;  ///< entries that this rank selected
  const uint64_t* result;    ///< entries of the result
  const uint64_t* fault;     ///< malformed messages
  bool adds = false;         ///< to what the same call has come to before, as one of a group
};

/// Of the last of these calls, and of all of them.
struct DeviceTotals {
  uint64_t last_selected, last_result, selected, result;
};

/// Where that is written down.
struct DeviceReport {
  DeviceTotals* tally;   ///< on the device
  DeviceTotals* mirror;  ///< the same, where the host sees it
  Alarm* alarm;
};

}  // namespace sparsecoll
