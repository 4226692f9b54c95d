// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report.hpp"

namespace sparsecoll::info {

/// How ranks find each other and send: as the launcher says, or one that the user asks for.
enum class Transport { of_launcher, mpi, ucx };

/// Compares the processes of a launcher, and tries a communicator of them. Rank 0 returns what it
/// found, the others null. Throws std::runtime_error. Collective.
Json compare_ranks(Transport transport);

/// Writes what compare_ranks() has returned for people to read.
std::string text_of_ranks(const Json& found);

}  // namespace sparsecoll::info
