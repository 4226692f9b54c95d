// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace sparsecoll::soak {

/// The command line of a job.
struct Options {
  uint64_t seed = 1;
  uint64_t calls = 200;      ///< collective calls after which the job ends
  int timeout_ms = 1000;     ///< deadline of every call
  double slack = 2;          ///< seconds that a call may take beyond it on an idle machine
  int faults = 50;           ///< of 100 communicators, those in whose life a rank fails
  int kills = 50;            ///< of 100 ranks that fail, those that die
  std::string folder = ".";  ///< for reports and saved residuals
  int ranks = 4;             ///< threads; over MPI the launcher gives the number
  bool ucx = false;          ///< over MPI: the library sends over UCX
};

/// Parses the command line. Ends the program if it is wrong, or asks for help.
Options parse(const std::string& what, int argc, char** argv, bool threads);

}  // namespace sparsecoll::soak
