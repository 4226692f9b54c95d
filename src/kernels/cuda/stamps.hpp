// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/backend.hpp"
#include "kernels/stamps.hpp"

namespace sparsecoll::cuda {

/// Writes the stamp at the head of every message.
void put_stamps(Backend& backend, std::span<std::byte* const> messages, const Stamp& stamp);
/// Raises the alarm for the lowest peer whose message begins with another stamp.
void check_stamps(Backend& backend, std::span<const StampedMessage> messages, const Stamp& expected,
                  Alarm* alarm);
/// Adds the counts to the device's totals. Raises the alarm if a message was malformed.
void add_counts(Backend& backend, const CallCounts& counts, const DeviceReport& report);
const void* any_stamp_kernel();

}  // namespace sparsecoll::cuda
