! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Runs all checks over MPI, with `use mpi`.
program with_mpi
  use alltoall_checks
  use dense_checks
  use mpi
  use other_checks
  use push_sum_checks
  use sparse_checks
  use sparsecoll
  use verdict
  implicit none
  type(sparsecollComm_t) :: comm
  type(sparsecollConfig_t) :: config
  type(verdict_t) :: found
  integer :: ierr, level, P, failures

  call MPI_Init_thread(MPI_THREAD_MULTIPLE, level, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, found%rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, P, ierr)
  config%timeoutMs = 60000
  call sparsecollCommInitMpi(comm, MPI_COMM_WORLD, config)
  call check_dense_forms(comm, found)
  call check_exchange(comm, found)
  call check_sparse_forms(comm, found)
  call check_push_sum(comm, found)
  call check_the_rest(comm, found)
  call sparsecollCommDestroy(comm)
  call sparsecollCommDestroy(comm, ierr)
  call expect(found, ierr == sparsecollInvalidArgument, 'destroyed twice')
  config%algorithm = 99
  call sparsecollCommInitMpi(comm, MPI_COMM_WORLD, config, ierr)
  call expect(found, ierr == sparsecollInvalidArgument, 'an algorithm that does not exist')
  call expect(found, len(sparsecollGetLastError()) > 0, 'the last failed init is explained')

  call MPI_Allreduce(found%failures, failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (found%rank == 0) print '(3(a,i0))', 'P=', P, ', checks: ', found%checks, ', failures: ', &
    failures
  call MPI_Finalize(ierr)
  if (failures > 0) error stop
end program with_mpi
