// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/runner.hpp"

namespace sparsecoll::perf {

/// Returns the names of the baselines of this build: what users can do with MPI alone.
///  - mpi-dense: MPI_Allreduce of the dense vector.
///  - mpi-allgather: MPI_Allgatherv of (uint32 index, value) pairs, then a scatter-add.
///  - mpi-alltoallv: MPI_Alltoall of sizes, then MPI_Alltoallv of indices and of values.
/// Defined in baselines_mpi.cpp. In a build without MPI, without_mpi.cpp returns none.
std::vector<std::string> baseline_names();

/// Makes the baseline of that name. It runs over all ranks of MPI_COMM_WORLD.
template <class T>
std::unique_ptr<Runner<T>> make_baseline(const std::string& name, const Task<T>& task);

}  // namespace sparsecoll::perf
