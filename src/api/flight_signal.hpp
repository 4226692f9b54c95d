// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sparsecoll {

/// Lets this signal write the flight records of all communicators of the process from now on, also
/// while its threads hang. The handler only wakes a thread, which the first call starts; then it
/// calls the handler that the program had before. Throws SystemError.
void write_records_at(int signal);

}  // namespace sparsecoll
