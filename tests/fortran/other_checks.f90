! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Tests of communicators, residuals, groups, statistics and errors.
module other_checks
  use, intrinsic :: iso_c_binding, only: c_associated, c_double, c_f_pointer, c_float, c_funloc, &
    c_int, c_int32_t, c_int64_t, c_loc, c_null_ptr, c_ptr, c_size_t
  use serial
  use sparsecoll
  use verdict
  implicit none
  private
  public :: check_the_rest

  integer, parameter :: n = 60
  integer(c_size_t), parameter :: k = 5

contains

  subroutine check_the_rest(comm, found)
    type(sparsecollComm_t), intent(in) :: comm
    type(verdict_t), intent(inout) :: found

    call check_residual(comm, found)
    call check_group(comm, found)
    call check_queue(comm, found)
    call check_split(comm, found)
    call check_shrink(comm, found)
    call check_errors(comm, found)
    call check_queries(comm, found)
  end subroutine check_the_rest

  subroutine check_residual(comm, found)
    type(sparsecollComm_t), intent(in) :: comm
    type(verdict_t), intent(inout) :: found
    type(sparsecollResidual_t) :: residual
    real(c_float) :: kept(n), grid(6, 10)
    real(c_float), pointer :: inside(:)
    type(c_ptr) :: address
    integer :: i, ierr

    call sparsecollResidualCreate(residual, int(n, c_size_t), sparsecollFloat32, comm)
    grid = reshape([(real(i, c_float), i=1, n)], shape(grid))
    call sparsecollResidualWrite(residual, grid)
    call sparsecollResidualScale(residual, 0.5_c_double)
    call sparsecollResidualRead(residual, kept)
    call expect(found, all(kept == reshape(grid, [n]) / 2), 'Write, Scale, Read')
    call sparsecollResidualPointer(residual, address)
    call c_f_pointer(address, inside, [n])
    call expect(found, all(inside == kept), 'Pointer')
    call sparsecollResidualDestroy(residual)
    call sparsecollResidualRead(residual, kept, ierr)
    call expect(found, ierr == sparsecollInvalidArgument, 'Read after Destroy')
    call expect(found, .not. c_associated(sparsecollNoResidual%handle), 'no residual is NULL')
  end subroutine check_residual

  !> Checks a group of two calls.
  subroutine check_group(comm, found)
    type(sparsecollComm_t), intent(in) :: comm
    type(verdict_t), intent(inout) :: found
    real(c_double) :: first(n), second(n), alone(n), alone_too(n)
    integer :: rank, i

    call sparsecollCommRank(comm, rank)
    first = [(gradient(rank, i, 1), i=0, n - 1)]
    second = [(gradient(rank, i, 2), i=0, n - 1)]
    alone = first
    alone_too = second
    call sparseAllreduce(alone, k, sparsecollSum, sparsecollNoResidual, comm)
    call gtopkAllreduce(alone_too, k, sparsecollSum, sparsecollNoResidual, comm)
    call sparsecollGroupStart(comm)
    call sparseAllreduce(first, k, sparsecollSum, sparsecollNoResidual, comm)
    call gtopkAllreduce(second, k, sparsecollSum, sparsecollNoResidual, comm)
    call sparsecollGroupEnd(comm)
    call expect(found, all(first == alone) .and. all(second == alone_too), 'group')
  end subroutine check_group

  !> Checks queued calls, on a communicator of their own.
  subroutine check_queue(comm, found)
    type(sparsecollComm_t), intent(in) :: comm
    type(verdict_t), intent(inout) :: found
    type(sparsecollComm_t) :: queued
    type(sparsecollConfig_t) :: config
    real(c_double), asynchronous :: buffer(n)
    real(c_double) :: expected(n)
    integer(c_int64_t) :: sequence
    integer(c_int64_t), target, volatile :: told
    integer(c_int) :: state
    integer :: rank, i, ierr

    call sparsecollCommRank(comm, rank)
    expected = [(gradient(rank, i, 4), i=0, n - 1)]
    buffer = expected
    call sparseAllreduce(expected, k, sparsecollSum, sparsecollNoResidual, comm)
    config%blocking = 0
    call sparsecollCommSplit(comm, 0, rank, queued, config)
    call sparseAllreduce(buffer, k, sparsecollSum, sparsecollNoResidual, queued)
    call sparsecollCommGetSequence(queued, sequence)
    call sparsecollCommWait(queued, sequence)
    call expect(found, all(buffer == expected), 'a queued call')
    told = -1
    call sparsecollCommNotify(queued, sequence, c_funloc(hear), c_loc(told))
    call sparseAllreduce(buffer, k, sparsecollSum, sparsecollNoResidual, queued)
    call sparsecollCommSynchronize(queued)
    call expect(found, told == sequence, 'a notification')
    sequence = sequence + 1
    call sparsecollCommNotify(queued, sequence + 1, c_funloc(hear), c_loc(told), ierr)
    call expect(found, ierr == sparsecollInvalidArgument, 'no such call')
    call sparsecollCommStreamWait(queued, c_null_ptr, ierr)
    call expect(found, ierr == sparsecollSuccess, 'no call had buffers on a device')
    call sparsecollCommStreamWait(queued, c_null_ptr)
    call sparsecollCommSynchronize(queued)
    call sparsecollCommGetAsyncError(queued, state)
    call expect(found, state == sparsecollSuccess, 'no error is pending')
    call sparsecollCommWait(queued, sequence + 1, ierr)
    call expect(found, ierr == sparsecollInvalidArgument, 'a call that was not made')
    call sparsecollCommDestroy(queued)
  end subroutine check_queue

  !> A function of sparsecollCommNotify: stores the number of the call, if it succeeded.
  subroutine hear(user, sequence, result) bind(C)
    type(c_ptr), value :: user
    integer(c_int64_t), value :: sequence
    integer(c_int), value :: result
    integer(c_int64_t), pointer :: told

    call c_f_pointer(user, told)
    if (result == sparsecollSuccess) told = sequence
  end subroutine hear

  !> Splits into even and odd ranks, in reverse order, without the last rank.
  subroutine check_split(comm, found)
    type(sparsecollComm_t), intent(in) :: comm
    type(verdict_t), intent(inout) :: found
    type(sparsecollComm_t) :: half
    real(c_float) :: one(1)
    integer(c_int) :: P, rank, members, position, color

    call sparsecollCommCount(comm, P)
    call sparsecollCommRank(comm, rank)
    color = modulo(rank, 2)
    if (rank == P - 1) color = SPARSECOLL_SPLIT_NOCOLOR
    call sparsecollCommSplit(comm, color, -rank, half)
    call expect(found, c_associated(half%handle) .eqv. rank < P - 1, 'Split')
    if (rank == P - 1) return
    call sparsecollCommCount(half, members)
    call sparsecollCommRank(half, position)
    call expect(found, members == (P - 1 - color + 1) / 2, 'size of the new communicator')
    call expect(found, position == members - 1 - rank / 2, 'rank in the new communicator')
    one = 1
    call sparseAllreduce(one, 1_c_size_t, sparsecollSum, sparsecollNoResidual, half)
    call expect(found, nint(one(1)) == members, 'sum in the new communicator')
    call sparsecollCommDestroy(half)
  end subroutine check_split

  !> Goes on without the last rank, and moves a residual and a push-sum state.
  subroutine check_shrink(comm, found)
    type(sparsecollComm_t), intent(in) :: comm
    type(verdict_t), intent(inout) :: found
    type(sparsecollComm_t) :: smaller
    type(sparsecollResidual_t) :: residual
    type(sparsecollPushSum_t) :: state
    real(c_float) :: one(1)
    integer(c_int) :: P, rank, members, gone, ierr

    call sparsecollCommCount(comm, P)
    call sparsecollCommRank(comm, rank)
    gone = 0
    call sparsecollCommGetFailed(comm, count=gone)
    call expect(found, gone == 0, 'nobody is gone')
    call sparsecollPushSumCreate(state, 1_c_size_t, sparsecollFloat32, comm=comm)
    if (P > 1 .and. rank == P - 1) return
    call sparsecollResidualCreate(residual, 1_c_size_t, sparsecollFloat32, comm)
    if (P == 1) then
      call sparsecollCommShrink(comm, smaller)
    else
      call sparsecollCommShrink(comm, smaller, [P - 1])
    end if
    call sparsecollCommCount(smaller, members)
    call expect(found, members == max(P - 1, 1), 'ranks that remain')
    call sparsecollResidualMove(residual, smaller)
    one = 1
    call sparseAllreduce(one, 1_c_size_t, sparsecollSum, residual, smaller)
    call expect(found, nint(one(1)) == members, 'sum of the ranks that remain')
    call sparsecollResidualMove(residual, smaller, ierr)
    call expect(found, ierr == sparsecollInvalidArgument, 'it was moved already')
    call sparsecollPushSumMove(state, smaller)
    one = 3
    call pushSumStep(one, state=state, comm=smaller)
    call expect(found, nint(one(1)) == 3, 'a step of the ranks that remain')
    call sparsecollCommDestroy(smaller)
  end subroutine check_shrink

  !> Checks that bad arguments return an error and that the communicator stays usable.
  subroutine check_errors(comm, found)
    type(sparsecollComm_t), intent(in) :: comm
    type(verdict_t), intent(inout) :: found
    real(c_float) :: mine(n), total(n)
    integer(c_int32_t), target :: indices(1)
    real(c_float), target :: values(1)
    type(sparsecollSparse_t) :: send, recv
    integer(c_size_t), allocatable :: bounds(:)
    integer :: P, rank, ierr

    call sparsecollCommCount(comm, P)
    call sparsecollCommRank(comm, rank)
    mine = 1
    total = 77
    call sparseAllreduce(mine, total(:n - 1), k, sparsecollSum, sparsecollNoResidual, comm, ierr)
    call expect(found, ierr == sparsecollInvalidArgument, 'arrays of unequal size')
    call expect(found, index(sparsecollGetLastError(comm), 'recvbuff') > 0, &
      'recvbuff is named: ' // sparsecollGetLastError(comm))
    call expect(found, all(nint(total) == 77), 'nothing was written')
    call sparseAllreduce(mine, total, k, 3_c_int, sparsecollNoResidual, comm, ierr)
    call expect(found, ierr == sparsecollInvalidArgument, 'an op that does not exist')
    ierr = -1
    call sparseAllreduce(mine, total, k, sparsecollSum, sparsecollNoResidual, comm, ierr)
    call expect(found, ierr == sparsecollSuccess, 'a call after the error')

    send = sparsecollSparse_t(indices, values, int(n, c_size_t), nnz=0_c_size_t)
    recv = sparsecollSparse_t(indices, values, int(n, c_size_t))
    allocate (bounds(P), source=0_c_size_t)
    call sparseAlltoall(send, recv, bounds=bounds, comm=comm, ierr=ierr)
    call expect(found, ierr == sparsecollInvalidArgument, 'too few borders')
    recv = sparsecollSparse_t()
    call sparseAlltoall(send, recv, bounds(2:), comm=comm, ierr=ierr)
    call expect(found, ierr == sparsecollInvalidArgument, 'too few recvcounts')
    call expect(found, index(sparsecollGetLastError(comm), 'recvcounts') > 0, &
      'recvcounts are named: ' // sparsecollGetLastError(comm))
    call sparseAllreduce(mine, total, k, sparsecollSum, sparsecollNoResidual, &
      sparsecollComm_t(), ierr)
    call expect(found, ierr == sparsecollInvalidArgument, 'no communicator')
  end subroutine check_errors

  subroutine check_queries(comm, found)
    type(sparsecollComm_t), intent(in) :: comm
    type(verdict_t), intent(inout) :: found
    type(sparsecollStats_t) :: stats, empty
    type(sparsecollTopology_t) :: topology
    real(c_float) :: mine(n)
    integer(c_int64_t) :: before, after
    integer :: version, P, ierr

    call sparsecollGetVersion(version)
    call expect(found, version == SPARSECOLL_VERSION, 'version')
    call sparsecollCommCount(comm, P)
    call sparsecollCommGetSequence(comm, before)
    mine = 1
    call sparseAllreduce(mine, k, sparsecollSum, sparsecollNoResidual, comm)
    call sparsecollCommGetSequence(comm, after)
    call expect(found, after == before + 1, 'sequence')
    call sparsecollCommGetStats(comm, sparsecollStatsLast, stats)
    call expect(found, stats%selected == k .and. stats%result == k, 'statistics')
    call expect(found, (stats%bytesSent > 0) .eqv. P > 1, 'bytes sent')
    empty%magic = 0
    call sparsecollCommGetStats(comm, sparsecollStatsTotal, empty, ierr)
    call expect(found, ierr == sparsecollInvalidArgument, 'statistics without initializer')
    call sparsecollCommGetTopology(comm, topology)
    call expect(found, topology%levels >= 1 .and. topology%ranks(1) >= 1 .and. &
      topology%threads >= 1, 'topology')
    topology%magic = 0
    call sparsecollCommGetTopology(comm, topology, ierr)
    call expect(found, ierr == sparsecollInvalidArgument, 'topology without initializer')
    call sparsecollCommDump(comm, '/dev/null', ierr)
    call expect(found, ierr == sparsecollInvalidArgument, 'a record that is no regular file')
    call sparsecollCommDump(comm, ierr=ierr)
    call expect(found, ierr == sparsecollInvalidArgument, 'a record without a name')
    call expect(found, index(sparsecollGetErrorString(sparsecollTimeout), 'sparsecollTimeout') &
      == 1, 'error string')
  end subroutine check_queries
end module other_checks
