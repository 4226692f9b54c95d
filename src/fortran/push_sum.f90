! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Push-sum (Stochastic Gradient Push) and its state.
module sparsecoll_push_sum
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_float, c_int, c_int64_t, c_loc, &
    c_null_char, c_null_ptr, c_ptr, c_size_t
  use sparsecoll_addresses, only: address_if
  use sparsecoll_errors, only: finish
  use sparsecoll_types
  implicit none
  private
  public :: pushSumStep, sparsecollPushSumCreate, sparsecollPushSumDestroy
  public :: sparsecollPushSumWeight, sparsecollPushSumDrain, sparsecollPushSumSave
  public :: sparsecollPushSumLoad, sparsecollPushSumSaveTo, sparsecollPushSumLoadFrom
  public :: sparsecollPushSumMove
  public :: sparsecollOutNeighbours

  !> (x, [estimate,] state, comm[, ierr]): arrays of one kind, any rank and equal size, that of the
  !>     state. If the estimate is absent, pass the arguments after it by name. (x, estimate, count,
  !>     datatype, state, comm, stream[, ierr]): the arguments of C.
  interface pushSumStep
    procedure step_float32, step_float64, step_of_addresses
  end interface pushSumStep

  !> (state, x, [estimate,] [ierr]): as many values as the state has, of its kind.
  !> (state, x, estimate, stream[, ierr]): the arguments of C.
  interface sparsecollPushSumDrain
    procedure drain_float32, drain_float64, drain_of_addresses
  end interface sparsecollPushSumDrain

  abstract interface
    !> The interface of outNeighbours in a configuration. Set its address by c_funloc. Ranks count
    !> from 0.
    function sparsecollOutNeighbours(user, rank, nranks, step, neighbours, weights, capacity) &
        bind(C)
      import :: c_double, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: user
      integer(c_int), value :: rank, nranks
      integer(c_int64_t), value :: step
      integer(c_int), value :: capacity
      integer(c_int), intent(inout) :: neighbours(capacity)
      real(c_double), intent(inout) :: weights(capacity)
      integer(c_int) :: sparsecollOutNeighbours
    end function sparsecollOutNeighbours
  end interface

  interface
    function c_step(x, estimate, count, datatype, state, comm, stream) bind(C, name="pushSumStep")
      import :: c_int, c_ptr, c_size_t, sparsecollComm_t
      type(c_ptr), value :: x, estimate
      integer(c_size_t), value :: count
      integer(c_int), value :: datatype
      type(c_ptr), value :: state
      type(sparsecollComm_t), value :: comm
      type(c_ptr), value :: stream
      integer(c_int) :: c_step
    end function c_step

    function c_create(state, count, datatype, config, comm) bind(C, name="sparsecollPushSumCreate")
      import :: c_int, c_ptr, c_size_t, sparsecollComm_t, sparsecollPushSumConfig_t
      type(c_ptr), intent(inout) :: state
      integer(c_size_t), value :: count
      integer(c_int), value :: datatype
      type(sparsecollPushSumConfig_t), intent(in), optional :: config
      type(sparsecollComm_t), value :: comm
      integer(c_int) :: c_create
    end function c_create

    function c_destroy(state) bind(C, name="sparsecollPushSumDestroy")
      import :: c_int, c_ptr
      type(c_ptr), value :: state
      integer(c_int) :: c_destroy
    end function c_destroy

    function c_weight(state, weight) bind(C, name="sparsecollPushSumWeight")
      import :: c_double, c_int, c_ptr
      type(c_ptr), value :: state
      real(c_double), intent(inout) :: weight
      integer(c_int) :: c_weight
    end function c_weight

    function c_drain(state, x, estimate, stream) bind(C, name="sparsecollPushSumDrain")
      import :: c_int, c_ptr
      type(c_ptr), value :: state
      type(c_ptr), value :: x, estimate, stream
      integer(c_int) :: c_drain
    end function c_drain

    function c_move(state, newcomm) bind(C, name="sparsecollPushSumMove")
      import :: c_int, c_ptr, sparsecollComm_t
      type(c_ptr), value :: state
      type(sparsecollComm_t), value :: newcomm
      integer(c_int) :: c_move
    end function c_move

    function c_save(state, path) bind(C, name="sparsecollPushSumSave")
      import :: c_char, c_int, c_ptr
      type(c_ptr), value :: state
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int) :: c_save
    end function c_save

    function c_load(state, path) bind(C, name="sparsecollPushSumLoad")
      import :: c_char, c_int, c_ptr
      type(c_ptr), value :: state
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int) :: c_load
    end function c_load

    function c_save_to(state, buffer, bytes) bind(C, name="sparsecollPushSumSaveTo")
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), value :: state, buffer
      integer(c_size_t), intent(inout) :: bytes
      integer(c_int) :: c_save_to
    end function c_save_to

    function c_load_from(state, buffer, bytes) bind(C, name="sparsecollPushSumLoadFrom")
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), value :: state, buffer
      integer(c_size_t), value :: bytes
      integer(c_int) :: c_load_from
    end function c_load_from
  end interface

contains

  !> Makes a push-sum state for one tensor. Collective. If config is absent, the defaults apply, and
  !> the arguments after it are passed by name.
  subroutine sparsecollPushSumCreate(state, count, datatype, config, comm, ierr)
    type(sparsecollPushSum_t), intent(inout) :: state
    integer(c_size_t), intent(in) :: count
    integer(c_int), intent(in) :: datatype
    type(sparsecollPushSumConfig_t), intent(in), optional :: config
    type(sparsecollComm_t), intent(in) :: comm
    integer, intent(out), optional :: ierr
    integer(c_int) :: result

    result = c_create(state%handle, count, datatype, config, comm)
    if (result == sparsecollSuccess) then
      state%count = count
      state%datatype = datatype
    end if
    call finish(result, 'sparsecollPushSumCreate', comm, ierr)
  end subroutine sparsecollPushSumCreate

  !> Frees a push-sum state.
  subroutine sparsecollPushSumDestroy(state, ierr)
    type(sparsecollPushSum_t), intent(in) :: state
    integer, intent(out), optional :: ierr

    call finish(c_destroy(state%handle), 'sparsecollPushSumDestroy', ierr=ierr)
  end subroutine sparsecollPushSumDestroy

  !> Returns this rank's weight w.
  subroutine sparsecollPushSumWeight(state, weight, ierr)
    type(sparsecollPushSum_t), intent(in) :: state
    real(c_double), intent(inout) :: weight
    integer, intent(out), optional :: ierr

    call finish(c_weight(state%handle, weight), 'sparsecollPushSumWeight', ierr=ierr)
  end subroutine sparsecollPushSumWeight

  !> Moves the state to a communicator that sparsecollCommShrink made of the state's own. Collective
  !> over the new communicator; x stays as it is.
  subroutine sparsecollPushSumMove(state, newcomm, ierr)
    type(sparsecollPushSum_t), intent(in) :: state
    type(sparsecollComm_t), intent(in) :: newcomm
    integer, intent(out), optional :: ierr

    call finish(c_move(state%handle, newcomm), 'sparsecollPushSumMove', newcomm, ierr)
  end subroutine sparsecollPushSumMove

  !> Writes the weight, the step counter and the copies of compressed gossip to a file. Blanks at
  !> the end of the path do not count.
  subroutine sparsecollPushSumSave(state, path, ierr)
    type(sparsecollPushSum_t), intent(in) :: state
    character(*), intent(in) :: path
    integer, intent(out), optional :: ierr

    call finish(c_save(state%handle, trim(path) // c_null_char), 'sparsecollPushSumSave', ierr=ierr)
  end subroutine sparsecollPushSumSave

  !> Restores the state that this rank saved.
  subroutine sparsecollPushSumLoad(state, path, ierr)
    type(sparsecollPushSum_t), intent(in) :: state
    character(*), intent(in) :: path
    integer, intent(out), optional :: ierr

    call finish(c_load(state%handle, trim(path) // c_null_char), 'sparsecollPushSumLoad', ierr=ierr)
  end subroutine sparsecollPushSumLoad

  !> Writes to memory what sparsecollPushSumSave writes to a file. On entry `bytes` is the capacity,
  !> on return the size of the state. If `buffer` is c_null_ptr, it only returns the size.
  subroutine sparsecollPushSumSaveTo(state, buffer, bytes, ierr)
    type(sparsecollPushSum_t), intent(in) :: state
    type(c_ptr), intent(in) :: buffer
    integer(c_size_t), intent(inout) :: bytes
    integer, intent(out), optional :: ierr

    call finish(c_save_to(state%handle, buffer, bytes), 'sparsecollPushSumSaveTo', ierr=ierr)
  end subroutine sparsecollPushSumSaveTo

  !> Restores the state from `bytes` bytes of memory.
  subroutine sparsecollPushSumLoadFrom(state, buffer, bytes, ierr)
    type(sparsecollPushSum_t), intent(in) :: state
    type(c_ptr), intent(in) :: buffer
    integer(c_size_t), intent(in) :: bytes
    integer, intent(out), optional :: ierr

    call finish(c_load_from(state%handle, buffer, bytes), 'sparsecollPushSumLoadFrom', ierr=ierr)
  end subroutine sparsecollPushSumLoadFrom

  subroutine step_float32(x, estimate, state, comm, ierr)
    real(c_float), contiguous, target, intent(inout) :: x(..)
    real(c_float), contiguous, target, intent(inout), optional :: estimate(..)
    type(sparsecollPushSum_t), intent(in) :: state
    type(sparsecollComm_t), intent(in) :: comm
    integer, intent(out), optional :: ierr
    type(c_ptr) :: to

    to = c_null_ptr
    if (present(estimate)) &
      to = address_if(size(estimate, kind=c_size_t) == size(x, kind=c_size_t), c_loc(estimate))
    call step_of_addresses(c_loc(x), to, size(x, kind=c_size_t), sparsecollFloat32, state, comm, &
      c_null_ptr, ierr)
  end subroutine step_float32

  subroutine drain_float32(state, x, estimate, ierr)
    type(sparsecollPushSum_t), intent(in) :: state
    real(c_float), contiguous, target, intent(inout) :: x(..)
    real(c_float), contiguous, target, intent(inout), optional :: estimate(..)
    integer, intent(out), optional :: ierr
    type(c_ptr) :: to
    logical :: fits

    to = c_null_ptr
    if (present(estimate)) &
      to = address_if(size(estimate, kind=c_size_t) == size(x, kind=c_size_t), c_loc(estimate))
    fits = state%datatype == sparsecollFloat32 .and. size(x, kind=c_size_t) == state%count
    call drain_of_addresses(state, address_if(fits, c_loc(x)), to, c_null_ptr, ierr)
  end subroutine drain_float32

  subroutine step_float64(x, estimate, state, comm, ierr)
    real(c_double), contiguous, target, intent(inout) :: x(..)
    real(c_double), contiguous, target, intent(inout), optional :: estimate(..)
    type(sparsecollPushSum_t), intent(in) :: state
    type(sparsecollComm_t), intent(in) :: comm
    integer, intent(out), optional :: ierr
    type(c_ptr) :: to

    to = c_null_ptr
    if (present(estimate)) &
      to = address_if(size(estimate, kind=c_size_t) == size(x, kind=c_size_t), c_loc(estimate))
    call step_of_addresses(c_loc(x), to, size(x, kind=c_size_t), sparsecollFloat64, state, comm, &
      c_null_ptr, ierr)
  end subroutine step_float64

  subroutine drain_float64(state, x, estimate, ierr)
    type(sparsecollPushSum_t), intent(in) :: state
    real(c_double), contiguous, target, intent(inout) :: x(..)
    real(c_double), contiguous, target, intent(inout), optional :: estimate(..)
    integer, intent(out), optional :: ierr
    type(c_ptr) :: to
    logical :: fits

    to = c_null_ptr
    if (present(estimate)) &
      to = address_if(size(estimate, kind=c_size_t) == size(x, kind=c_size_t), c_loc(estimate))
    fits = state%datatype == sparsecollFloat64 .and. size(x, kind=c_size_t) == state%count
    call drain_of_addresses(state, address_if(fits, c_loc(x)), to, c_null_ptr, ierr)
  end subroutine drain_float64

  subroutine step_of_addresses(x, estimate, count, datatype, state, comm, stream, ierr)
    type(c_ptr), intent(in) :: x, estimate
    integer(c_size_t), intent(in) :: count
    integer(c_int), intent(in) :: datatype
    type(sparsecollPushSum_t), intent(in) :: state
    type(sparsecollComm_t), intent(in) :: comm
    type(c_ptr), intent(in) :: stream
    integer, intent(out), optional :: ierr

    call finish(c_step(x, estimate, count, datatype, state%handle, comm, stream), 'pushSumStep', &
      comm, ierr)
  end subroutine step_of_addresses

  subroutine drain_of_addresses(state, x, estimate, stream, ierr)
    type(sparsecollPushSum_t), intent(in) :: state
    type(c_ptr), intent(in) :: x, estimate, stream
    integer, intent(out), optional :: ierr

    call finish(c_drain(state%handle, x, estimate, stream), 'sparsecollPushSumDrain', ierr=ierr)
  end subroutine drain_of_addresses
end module sparsecoll_push_sum
