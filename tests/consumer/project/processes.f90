! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> A sum over processes, one rank each.
program processes
  use, intrinsic :: iso_c_binding, only: c_double, c_size_t
  use mpi_f08
  use sparsecoll
  implicit none
  type(sparsecollComm_t) :: comm
  real(c_double) :: values(3)
  integer :: rank, P

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, P)
  call sparsecollCommInitMpi(comm, MPI_COMM_WORLD)
  values = [1, 0, 10 * (rank + 1)]
  call sparseAllreduce(values, 1_c_size_t, sparsecollSum, sparsecollNoResidual, comm)
  if (any(nint(values) /= [0, 0, 5 * P * (P + 1)])) error stop 'processes: another sum was expected'
  call sparsecollCommDestroy(comm)
  call MPI_Finalize()
end program processes
