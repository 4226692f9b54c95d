// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/backend.hpp"
#include "kernels/stamps.hpp"

namespace sparsecoll::cuda {

/// Every one of the messages begins with the stamp from now on.
void put_stamps(Backend& backend, std::span<std::byte* const> messages, const Stamp& stamp);
/// Raises the alarm for the lowest peer whose message begins with another stamp.
void check_stamps(Backend& backend, std::span<const StampedMessage> messages, const Stamp& expected,
                  Alarm* alarm);
/// Adds the counts up; raises the alarm for a fault.
void settle(Backend& backend, const CallCounts& counts, const DeviceReport& books);
const void* kernel_of_stamps();

}  // namespace sparsecoll::cuda
