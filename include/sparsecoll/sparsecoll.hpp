// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#ifndef SPARSECOLL_SPARSECOLL_HPP_
#define SPARSECOLL_SPARSECOLL_HPP_

/// @file
/// @brief The C++ API, for C++17 and later: classes that own the objects of the C API, errors as
///        exceptions, datatypes deduced from arguments. Header-only.
///
/// @code
/// std::vector<sparsecoll::Communicator> comms = sparsecoll::Communicator::initAll(2);
/// // thread r:
/// sparsecoll::Communicator& comm = comms[r];
/// sparsecoll::Residual<float> residual(comm, gradient.size());
/// comm.sparseAllreduce(gradient, mean, k, sparsecollAvg, &residual);
/// @endcode
///
/// Functions have the names of the C API without prefixes. sparsecoll.h documents what each of them
/// does. sparsecoll_mpi.hpp makes communicators over MPI.

#include <sparsecoll/cxx/communicator.hpp>
#include <sparsecoll/cxx/error.hpp>
#include <sparsecoll/cxx/group.hpp>
#include <sparsecoll/cxx/local_functions.hpp>
#include <sparsecoll/cxx/push_sum.hpp>
#include <sparsecoll/cxx/queued_calls.hpp>
#include <sparsecoll/cxx/residual.hpp>
#include <sparsecoll/cxx/sparse_vector.hpp>
#include <sparsecoll/cxx/types.hpp>
#include <sparsecoll/cxx/verbs.hpp>

#endif  // SPARSECOLL_SPARSECOLL_HPP_
