! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Runs all checks over MPI, with `use mpi_f08` and the default configuration.
program with_mpi_f08
  use alltoall_checks
  use dense_checks
  use mpi_f08
  use other_checks
  use push_sum_checks
  use sparse_checks
  use sparsecoll
  use verdict
  implicit none
  type(sparsecollComm_t) :: comm
  type(MPI_Comm) :: reversed
  type(verdict_t) :: found
  integer :: P, failures, own_rank, level, ierr

  call MPI_Init_thread(MPI_THREAD_MULTIPLE, level)
  call MPI_Comm_rank(MPI_COMM_WORLD, found%rank)
  call MPI_Comm_size(MPI_COMM_WORLD, P)
  call MPI_Comm_split(MPI_COMM_WORLD, 0, -found%rank, reversed)
  call sparsecollCommInitMpi(comm, reversed)
  call sparsecollCommRank(comm, own_rank)
  call expect(found, own_rank == P - 1 - found%rank, 'ranks are those of the MPI communicator')
  call check_dense_forms(comm, found)
  call check_exchange(comm, found)
  call check_sparse_forms(comm, found)
  call check_push_sum(comm, found)
  call check_the_rest(comm, found)
  call sparsecollCommDestroy(comm)
  call MPI_Comm_free(reversed)
  call sparsecollCommInitMpi(comm, reversed, ierr=ierr)
  call expect(found, ierr == sparsecollInvalidArgument, 'MPI_COMM_NULL')

  call MPI_Allreduce(found%failures, failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (found%rank == 0) print '(3(a,i0))', 'P=', P, ', checks: ', found%checks, ', failures: ', &
    failures
  call MPI_Finalize()
  if (failures > 0) error stop
end program with_mpi_f08
