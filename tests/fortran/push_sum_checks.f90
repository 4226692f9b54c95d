! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Compares push-sum with its definition, computed for all ranks. Weights are powers of two, so
!> that every number is exact.
module push_sum_checks
  use, intrinsic :: iso_c_binding, only: c_double, c_f_pointer, c_float, c_funloc, &
    c_int, c_int8_t, c_int64_t, c_loc, c_null_ptr, c_ptr, c_size_t
  use serial
  use sparsecoll
  use verdict
  implicit none
  private
  public :: check_push_sum

  integer, parameter :: n = 40
  integer(c_size_t), parameter :: length = n

contains

  subroutine check_push_sum(comm, found)
    type(sparsecollComm_t), intent(in) :: comm
    type(verdict_t), intent(inout) :: found

    call check_exponential(comm, found)
    call check_custom(comm, found)
    call check_files(comm, found)
  end subroutine check_push_sum

  !> Checks the default graph, which sends half of (x, w) to distance 2^(t mod ceil(log2 P)).
  subroutine check_exponential(comm, found)
    type(sparsecollComm_t), intent(in) :: comm
    type(verdict_t), intent(inout) :: found
    type(sparsecollPushSum_t) :: state
    real(c_double), allocatable :: x_of(:, :)
    real(c_double), target :: x(n)
    real(c_double) :: estimate(n), weights(0:15), weight
    integer :: P, rank, step, period

    call sparsecollCommCount(comm, P)
    call sparsecollCommRank(comm, rank)
    x_of = gradients(n, P, 1)
    x = x_of(:, rank + 1)
    weights = 1
    period = 1
    do while (2**period < P)
      period = period + 1
    end do
    call sparsecollPushSumCreate(state, length, sparsecollFloat64, comm=comm)
    do step = 0, 5
      if (P > 1) call spread(x_of, weights(:P - 1), 2**modulo(step, period), 0.5_c_double)
      estimate = 77
      call pushSumStep(x, estimate, state, comm)
      call sparsecollPushSumWeight(state, weight)
      call expect(found, all_equal(x, x_of(:, rank + 1)), 'pushSumStep, c_double')
      call expect(found, all_equal([weight], [weights(rank)]), 'its weight')
      call expect(found, all_equal(estimate, x / weight), 'its estimate')
    end do
    call sparsecollPushSumDrain(state, x)
    call expect(found, all_equal(x, x_of(:, rank + 1)), 'the drain received all messages')
    call sparsecollPushSumDrain(state, c_loc(x), c_null_ptr, c_null_ptr)
    call sparsecollPushSumDestroy(state)
  end subroutine check_exponential

  !> Checks a custom graph, which sends a part of 1 / user to the next rank.
  subroutine check_custom(comm, found)
    type(sparsecollComm_t), intent(in) :: comm
    type(verdict_t), intent(inout) :: found
    type(sparsecollPushSum_t) :: state
    type(sparsecollPushSumConfig_t) :: config
    integer, target :: parts
    real(c_double), allocatable :: x_of(:, :)
    real(c_float), target :: x(n / 8, 8), estimate(n / 8, 8)
    real(c_float) :: longer(n + 1)
    real(c_double) :: weights(0:15), other_kind(n)
    integer :: P, rank, step, ierr

    call sparsecollCommCount(comm, P)
    call sparsecollCommRank(comm, rank)
    other_kind = 0
    longer = 0
    parts = 4
    config%graph = sparsecollGraphCustom
    config%outNeighbours = c_funloc(next_rank)
    config%user = c_loc(parts)
    x_of = gradients(n, P, 2)
    weights = 1
    x = reshape(real(x_of(:, rank + 1), c_float), shape(x))
    call sparsecollPushSumCreate(state, length, sparsecollFloat32, config, comm)
    do step = 0, 2
      if (P > 1) call spread(x_of, weights(:P - 1), 1, 0.25_c_double)
      if (step == 0) call pushSumStep(x, state=state, comm=comm)
      if (step == 1) call pushSumStep(x, estimate, state, comm)
      if (step == 2) call pushSumStep(c_loc(x), c_loc(estimate), length, sparsecollFloat32, state, &
        comm, c_null_ptr)
      call expect(found, all_equal(real(reshape(x, [n]), c_double), x_of(:, rank + 1)), &
        'pushSumStep, c_float, a graph of the caller')
    end do
    call expect(found, all(reshape(estimate, [n]) == real(x_of(:, rank + 1) / weights(rank), &
      c_float)), 'its estimate')
    call pushSumStep(x, longer, state, comm, ierr)
    call expect(found, ierr == sparsecollInvalidArgument, 'an estimate of another size')
    call sparsecollPushSumDrain(state, longer, ierr=ierr)
    call expect(found, ierr == sparsecollInvalidArgument, 'more values than the state has')
    call sparsecollPushSumDrain(state, longer(:n - 1), ierr=ierr)
    call expect(found, ierr == sparsecollInvalidArgument, 'fewer values than the state has')
    call sparsecollPushSumDrain(state, other_kind, ierr=ierr)
    call expect(found, ierr == sparsecollInvalidArgument, 'values of another kind')
    call sparsecollPushSumDrain(state, x, longer, ierr)
    call expect(found, ierr == sparsecollInvalidArgument, 'an estimate of another size, drained')
    call sparsecollPushSumDrain(state, x, estimate)
    call sparsecollPushSumDestroy(state)
    call sparsecollPushSumDestroy(state, ierr)
    call expect(found, ierr == sparsecollInvalidArgument, 'destroyed twice')
  end subroutine check_custom

  !> Checks that saved push-sum states and residuals can be loaded.
  subroutine check_files(comm, found)
    type(sparsecollComm_t), intent(in) :: comm
    type(verdict_t), intent(inout) :: found
    type(sparsecollPushSum_t) :: state
    type(sparsecollResidual_t) :: residual
    real(c_double) :: x(n), weight, loaded
    real(c_float), target :: kept(n)
    real(c_float) :: read_back(n)
    integer(c_int8_t), allocatable, target :: memory(:)
    integer(c_size_t) :: bytes
    character(4096) :: program_path
    character(:), allocatable :: path
    character(40) :: ranks
    integer :: P, rank, i, ierr

    call sparsecollCommCount(comm, P)
    call sparsecollCommRank(comm, rank)
    ! Programs of several modules and numbers of ranks may run at the same time.
    call get_command_argument(0, program_path)
    write (ranks, '(a,i0,a,i0)') '-state-', P, '-', rank
    path = trim(program_path)//trim(ranks)
    x = [(gradient(rank, i, 3), i=0, n - 1)]
    call sparsecollPushSumCreate(state, length, sparsecollFloat64, comm=comm)
    call pushSumStep(x, state=state, comm=comm)
    call sparsecollPushSumSave(state, path)
    call sparsecollPushSumWeight(state, weight)
    call pushSumStep(x, state=state, comm=comm)
    call sparsecollPushSumLoad(state, path)
    call sparsecollPushSumWeight(state, loaded)
    call expect(found, all_equal([weight], [loaded]), 'PushSumSave, PushSumLoad')
    call sparsecollPushSumSaveTo(state, c_null_ptr, bytes)
    allocate (memory(bytes))
    call sparsecollPushSumSaveTo(state, c_loc(memory), bytes)
    call pushSumStep(x, state=state, comm=comm)
    call sparsecollPushSumLoadFrom(state, c_loc(memory), bytes)
    call sparsecollPushSumWeight(state, loaded)
    call expect(found, all_equal([weight], [loaded]), 'PushSumSaveTo, PushSumLoadFrom')
    call sparsecollPushSumDestroy(state)
    deallocate (memory)

    call sparsecollResidualCreate(residual, length, sparsecollFloat32, comm)
    call sparsecollResidualLoad(residual, path, ierr)
    call expect(found, ierr == sparsecollInvalidArgument, 'a file of another kind')
    kept = real([(gradient(rank, i, 4), i=0, n - 1)], c_float)
    call sparsecollResidualWrite(residual, kept)
    call sparsecollResidualSave(residual, path)
    call sparsecollResidualScale(residual, 0.0_c_double)
    call sparsecollResidualLoad(residual, path)
    call sparsecollResidualRead(residual, read_back)
    call expect(found, all(read_back == kept), 'ResidualSave, ResidualLoad')
    bytes = 0
    call sparsecollResidualSaveTo(residual, c_loc(kept), bytes, ierr)
    call expect(found, ierr == sparsecollInvalidArgument .and. bytes > 4 * n, 'no capacity')
    allocate (memory(bytes))
    call sparsecollResidualSaveTo(residual, c_loc(memory), bytes)
    call sparsecollResidualScale(residual, 0.0_c_double)
    call sparsecollResidualLoadFrom(residual, c_loc(memory), bytes)
    read_back = 0
    call sparsecollResidualRead(residual, read_back)
    call expect(found, all(read_back == kept), 'ResidualSaveTo, ResidualLoadFrom')
    call sparsecollResidualDestroy(residual)
    open (newunit=i, file=path)
    close (i, status='delete')
  end subroutine check_files

  !> Computes one step of all ranks. Each sends the given part to the rank at this distance.
  subroutine spread(x, w, distance, part)
    real(c_double), intent(inout) :: x(:, 0:), w(0:)
    integer, intent(in) :: distance
    real(c_double), intent(in) :: part

    x = (1 - part) * x + part * cshift(x, -distance, dim=2)
    w = (1 - part) * w + part * cshift(w, -distance)
  end subroutine spread

  function next_rank(user, rank, nranks, step, neighbours, weights, capacity) bind(C)
    type(c_ptr), value :: user
    integer(c_int), value :: rank, nranks
    integer(c_int64_t), value :: step
    integer(c_int), value :: capacity
    integer(c_int), intent(inout) :: neighbours(capacity)
    real(c_double), intent(inout) :: weights(capacity)
    integer(c_int) :: next_rank
    integer, pointer :: parts

    next_rank = 0
    if (nranks == 1 .or. step < 0) return
    call c_f_pointer(user, parts)
    neighbours(1) = modulo(rank + 1, nranks)
    weights(1) = 1 / real(parts, c_double)
    next_rank = 1
  end function next_rank

  function all_equal(a, b)
    real(c_double), intent(in) :: a(:), b(:)
    logical :: all_equal

    all_equal = all(a == b)
  end function all_equal
end module push_sum_checks
