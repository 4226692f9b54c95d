// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Replaces ranks_mpi.cpp and baselines_mpi.cpp in a build without MPI.
#include <stdexcept>

#include "common/baselines.hpp"
#include "common/ranks.hpp"

namespace sparsecoll::perf {

bool mpi_available() { return false; }

int launch_mpi(const Body&, bool) { throw std::logic_error("this build has no MPI"); }

std::string mpi_version() { return ""; }

std::vector<std::string> baseline_names() { return {}; }

template <class T>
std::unique_ptr<Runner<T>> make_baseline(const std::string& name, const Task<T>&) {
  throw std::logic_error(name + " needs MPI, which this build does not have");
}

template std::unique_ptr<Runner<float>> make_baseline(const std::string&, const Task<float>&);
template std::unique_ptr<Runner<double>> make_baseline(const std::string&, const Task<double>&);

}  // namespace sparsecoll::perf
