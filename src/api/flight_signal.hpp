// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sparsecoll {

/// Installs a handler of this signal that writes the flight records of all communicators of the
/// process, even if its other threads hang. The handler only wakes a thread, which the first call
/// starts, and then calls the program's earlier handler. Throws SystemError.
void write_records_at(int signal);

}  // namespace sparsecoll
