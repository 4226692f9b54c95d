// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/stream/stream_call.hpp"

namespace sparsecoll {

class Device;

/// The memory in which the device reports on calls that the host does not wait for.
class ReportMemory {
 public:
  /// `device` must be the current one.
  explicit ReportMemory(Device& device);

  const Alarm* alarm() const { return reinterpret_cast<const Alarm*>(alarm_.data()); }
  const DeviceTotals* totals() const {
    return reinterpret_cast<const DeviceTotals*>(mirror_.data());
  }
  DeviceReport report() const;

 private:
  Block alarm_, mirror_;  ///< page-locked memory of the host
  Block totals_;          ///< memory of the device
};

}  // namespace sparsecoll
