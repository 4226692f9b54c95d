! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Runs all checks with ranks that are OpenMP threads.
program with_threads
  use, intrinsic :: iso_c_binding, only: c_associated, c_null_ptr
  use alltoall_checks
  use dense_checks
  use other_checks
  use push_sum_checks
  use sparse_checks
  use sparsecoll
  use start_checks
  use verdict
  implicit none
  type(sparsecollComm_t), allocatable :: comms(:)
  type(sparsecollConfig_t) :: config
  type(verdict_t) :: found
  integer :: P, rank, failures, checks, ierr

  failures = 0
  checks = 0
  config%timeoutMs = 60000
  do P = 1, 4
    allocate (comms(P))
    call sparsecollCommInitAll(comms, P, config=config)
    !$omp parallel do num_threads(P) schedule(static, 1) private(found) &
    !$omp reduction(+:failures, checks)
    do rank = 0, P - 1
      found = verdict_t(rank=rank)
      call check_dense_forms(comms(rank + 1), found)
      call check_exchange(comms(rank + 1), found)
      call check_sparse_forms(comms(rank + 1), found)
      call check_push_sum(comms(rank + 1), found)
      call check_the_rest(comms(rank + 1), found)
      failures = failures + found%failures
      checks = checks + found%checks
    end do
    !$omp end parallel do
    do rank = 1, P
      call sparsecollCommDestroy(comms(rank))
    end do
    deallocate (comms)
  end do

  found = verdict_t()
  allocate (comms(2))
  call sparsecollCommInitAll(comms, 3, ierr=ierr)
  call expect(found, ierr == sparsecollInvalidArgument, 'too few handles')
  call sparsecollCommInitAll(comms, 2, [SPARSECOLL_DEVICE_HOST], ierr=ierr)
  call expect(found, ierr == sparsecollInvalidArgument, 'too few devices')
  call sparsecollCommInitAll(comms, 2, [SPARSECOLL_DEVICE_HOST, SPARSECOLL_DEVICE_HOST], ierr=ierr)
  call expect(found, ierr == sparsecollSuccess, 'devices')
  call sparsecollCommAbort(comms(1))
  call sparsecollCommGetAsyncError(comms(1), rank)
  call expect(found, rank == sparsecollInvalidUsage, 'aborted')
  call sparsecollCommDestroy(comms(1), ierr)
  call sparsecollCommDestroy(comms(2), ierr)

  ! A library without NCCL refuses every argument.
  comms(1) = sparsecollComm_t()
  call sparsecollCommInitNccl(comms(1), c_null_ptr, ierr=ierr)
  call expect(found, ierr == sparsecollInvalidArgument .or. ierr == sparsecollInvalidUsage, 'NCCL')
  call expect(found, index(sparsecollGetLastError(), 'sparsecollCommInitNccl: nccl: ') == 1, 'why')
  call expect(found, .not. c_associated(comms(1)%handle), 'no communicator')

  call check_start(found)

  print '(i0,a,i0)', checks, ' checks, failures: ', failures + found%failures
  if (failures + found%failures > 0) error stop
end program with_threads
