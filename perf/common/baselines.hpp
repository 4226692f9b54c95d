// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/runner.hpp"

namespace sparsecoll::perf {

/// What users have without the library, in this build; empty without MPI.
///  - mpi-dense: MPI_Allreduce of the dense vector.
///  - mpi-allgather: MPI_Allgatherv of (uint32 index, value) pairs + scatter-add.
///  - mpi-alltoallv: MPI_Alltoall of sizes, MPI_Alltoallv of indices and of values.
/// Defined in baselines_mpi.cpp, or without_mpi.cpp in a build without MPI.
std::vector<std::string> baseline_names();

/// Over all ranks of MPI_COMM_WORLD.
template <class T>
std::unique_ptr<Runner<T>> make_baseline(const std::string& name, const Task<T>& task);

}  // namespace sparsecoll::perf
