// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/place.hpp"
#include "kernels/stamps.hpp"

namespace sparsecoll::cuda {

/// Every one of the messages begins with the stamp from now on.
void put_stamps(Place& place, std::span<std::byte* const> messages, const Stamp& stamp);
/// Raises the alarm for the lowest peer whose message begins with another stamp.
void check_stamps(Place& place, std::span<const Stamped> messages, const Stamp& expected,
                  Alarm* alarm);
/// Adds the counts up; raises the alarm for a fault.
void settle(Place& place, const Settlement& counts, const Books& books);
const void* kernel_of_stamps();

}  // namespace sparsecoll::cuda
