// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/stream/report_memory.hpp"

#include <new>

#include "kernels/device.hpp"

namespace sparsecoll {

ReportMemory::ReportMemory(Device& device)
    : alarm_(*device.page_locked(), sizeof(Alarm)),
      mirror_(*device.page_locked(), sizeof(DeviceTotals)),
      totals_(*device.memory(), sizeof(DeviceTotals)) {
  new (alarm_.data()) Alarm{};
  const auto* const zero = new (mirror_.data()) DeviceTotals{};
  Kernels& kernels = device.kernels(DataType::float32, IndexType::index32, 1);
  kernels.copy(zero, sizeof *zero, totals_.data());
}

DeviceReport ReportMemory::report() const {
  return {reinterpret_cast<DeviceTotals*>(totals_.data()),
          reinterpret_cast<DeviceTotals*>(mirror_.data()), reinterpret_cast<Alarm*>(alarm_.data())};
}

}  // namespace sparsecoll
