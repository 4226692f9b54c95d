! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> The library in Fortran: see docs/fortran.md.
module sparsecoll
  use sparsecoll_alltoall
  use sparsecoll_communicators
  use sparsecoll_coordinate_form
  use sparsecoll_errors, only: sparsecollGetErrorString, sparsecollGetLastError, &
    sparsecollGetVersion
  use sparsecoll_gtopk_allreduce
  use sparsecoll_initialization
  use sparsecoll_mpi
  use sparsecoll_local_functions
  use sparsecoll_push_sum
  use sparsecoll_queries
  use sparsecoll_reduce_scatter
  use sparsecoll_residuals
  use sparsecoll_sparse_allreduce
  use sparsecoll_sparse_vectors
  use sparsecoll_types
  implicit none
  public
end module sparsecoll
