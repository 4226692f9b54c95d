// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sparsecoll {

/// Identifies the call that a message belongs to. It is at the head of every message that is sent
/// in stream order.
struct Stamp {
  uint64_t sequence;
  uint64_t hash;  ///< hash of the sender's arguments
  bool operator==(const Stamp&) const = default;
};

/// A received message and its sender.
struct StampedMessage {
  const std::byte* at;
  int peer;
};

/// An error that a device has found, in memory that device and host share. The host polls it.
struct Alarm {
  enum Reason : uint64_t { nothing = 0, other_call = 1, malformed = 2 };
  uint64_t reason;
  uint64_t peer;  ///< sender of a message of another call
  Stamp got;      ///< stamp of that message
};

/// The result of one call in stream order, as counts on the device.
struct CallCounts {
  const uint64_t* selected;  ///< entries that this rank selected
  const uint64_t* result;    ///< entries of the result
  const uint64_t* fault;     ///< number of malformed messages
  bool adds = false;         ///< true: adds to the last counts, as the second or a later verb of a
                             ///< group does
};

/// Sums of the counts over the last call, and over all calls.
struct DeviceTotals {
  uint64_t last_selected, last_result, selected, result;
};

/// The memory to which a device writes its totals and errors.
struct DeviceReport {
  DeviceTotals* totals;  ///< on the device
  DeviceTotals* mirror;  ///< a copy that the host can read
  Alarm* alarm;
};

}  // namespace sparsecoll
