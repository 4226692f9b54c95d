! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Waits for calls, ends communicators and forms groups. initialization.f90 makes communicators,
!> queries.f90 has their queries.
module sparsecoll_communicators
  use, intrinsic :: iso_c_binding, only: c_char, c_funptr, c_int, c_int64_t, c_null_char, c_ptr
  use sparsecoll_errors, only: finish
  use sparsecoll_types
  implicit none
  private
  public :: sparsecollCommSynchronize, sparsecollCommWait, sparsecollCommNotify, sparsecollNotify
  public :: sparsecollCommStreamWait, sparsecollCommDestroy, sparsecollCommAbort, sparsecollCommDump
  public :: sparsecollCommMeasure, sparsecollGroupStart, sparsecollGroupEnd

  abstract interface
    !> The interface of the function that sparsecollCommNotify calls. Pass its address by c_funloc.
    subroutine sparsecollNotify(user, sequence, result) bind(C)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: user
      integer(c_int64_t), value :: sequence
      integer(c_int), value :: result
    end subroutine sparsecollNotify
  end interface

  interface
    function c_synchronize(comm) bind(C, name="sparsecollCommSynchronize")
      import :: c_int, sparsecollComm_t
      type(sparsecollComm_t), value :: comm
      integer(c_int) :: c_synchronize
    end function c_synchronize

    function c_wait(comm, sequence) bind(C, name="sparsecollCommWait")
      import :: c_int, c_int64_t, sparsecollComm_t
      type(sparsecollComm_t), value :: comm
      integer(c_int64_t), value :: sequence
      integer(c_int) :: c_wait
    end function c_wait

    function c_notify(comm, sequence, done, user) bind(C, name="sparsecollCommNotify")
      import :: c_funptr, c_int, c_int64_t, c_ptr, sparsecollComm_t
      type(sparsecollComm_t), value :: comm
      integer(c_int64_t), value :: sequence
      type(c_funptr), value :: done
      type(c_ptr), value :: user
      integer(c_int) :: c_notify
    end function c_notify

    function c_stream_wait(comm, stream) bind(C, name="sparsecollCommStreamWait")
      import :: c_int, c_ptr, sparsecollComm_t
      type(sparsecollComm_t), value :: comm
      type(c_ptr), value :: stream
      integer(c_int) :: c_stream_wait
    end function c_stream_wait

    function c_destroy(comm) bind(C, name="sparsecollCommDestroy")
      import :: c_int, sparsecollComm_t
      type(sparsecollComm_t), value :: comm
      integer(c_int) :: c_destroy
    end function c_destroy

    function c_abort(comm) bind(C, name="sparsecollCommAbort")
      import :: c_int, sparsecollComm_t
      type(sparsecollComm_t), value :: comm
      integer(c_int) :: c_abort
    end function c_abort

    function c_dump(comm, path) bind(C, name="sparsecollCommDump")
      import :: c_char, c_int, sparsecollComm_t
      type(sparsecollComm_t), value :: comm
      character(kind=c_char), intent(in), optional :: path(*)
      integer(c_int) :: c_dump
    end function c_dump

    function c_measure(comm) bind(C, name="sparsecollCommMeasure")
      import :: c_int, sparsecollComm_t
      type(sparsecollComm_t), value :: comm
      integer(c_int) :: c_measure
    end function c_measure

    function c_group_start(comm) bind(C, name="sparsecollGroupStart")
      import :: c_int, sparsecollComm_t
      type(sparsecollComm_t), value :: comm
      integer(c_int) :: c_group_start
    end function c_group_start

    function c_group_end(comm) bind(C, name="sparsecollGroupEnd")
      import :: c_int, sparsecollComm_t
      type(sparsecollComm_t), value :: comm
      integer(c_int) :: c_group_end
    end function c_group_end
  end interface

contains

  !> Waits for every queued call and returns the first error among them.
  subroutine sparsecollCommSynchronize(comm, ierr)
    type(sparsecollComm_t), intent(in) :: comm
    integer, intent(out), optional :: ierr

    call finish(c_synchronize(comm), 'sparsecollCommSynchronize', comm, ierr)
  end subroutine sparsecollCommSynchronize

  !> Waits until the collective call with this number, and all before it, are done.
  subroutine sparsecollCommWait(comm, sequence, ierr)
    type(sparsecollComm_t), intent(in) :: comm
    integer(c_int64_t), intent(in) :: sequence
    integer, intent(out), optional :: ierr

    call finish(c_wait(comm, sequence), 'sparsecollCommWait', comm, ierr)
  end subroutine sparsecollCommWait

  !> Calls `done`, of the interface sparsecollNotify, once with `user` when the collective call with
  !> this number has ended: on a thread of the communicator if calls are queued, else before this
  !> returns.
  subroutine sparsecollCommNotify(comm, sequence, done, user, ierr)
    type(sparsecollComm_t), intent(in) :: comm
    integer(c_int64_t), intent(in) :: sequence
    type(c_funptr), intent(in) :: done
    type(c_ptr), intent(in) :: user
    integer, intent(out), optional :: ierr

    call finish(c_notify(comm, sequence, done, user), 'sparsecollCommNotify', comm, ierr)
  end subroutine sparsecollCommNotify

  !> Orders a stream of the device after the device work of every call so far, without waiting for
  !> that work. Does nothing if no call had buffers on a device. `stream`: a cudaStream_t;
  !> c_null_ptr is the legacy default stream.
  subroutine sparsecollCommStreamWait(comm, stream, ierr)
    type(sparsecollComm_t), intent(in) :: comm
    type(c_ptr), intent(in) :: stream
    integer, intent(out), optional :: ierr

    call finish(c_stream_wait(comm, stream), 'sparsecollCommStreamWait', comm, ierr)
  end subroutine sparsecollCommStreamWait

  !> Frees a communicator and its residuals, whose handles become invalid.
  subroutine sparsecollCommDestroy(comm, ierr)
    type(sparsecollComm_t), intent(in) :: comm
    integer, intent(out), optional :: ierr

    call finish(c_destroy(comm), 'sparsecollCommDestroy', comm, ierr)
  end subroutine sparsecollCommDestroy

  !> Aborts whatever this rank is doing on `comm`. Any thread may call it.
  subroutine sparsecollCommAbort(comm, ierr)
    type(sparsecollComm_t), intent(in) :: comm
    integer, intent(out), optional :: ierr

    call finish(c_abort(comm), 'sparsecollCommAbort', comm, ierr)
  end subroutine sparsecollCommAbort

  !> Writes what this rank's last calls did to a file: `path`, or else the file of
  !> SPARSECOLL_FLIGHT_RECORDER. Blanks at the end of the path do not count.
  subroutine sparsecollCommDump(comm, path, ierr)
    type(sparsecollComm_t), intent(in) :: comm
    character(*), intent(in), optional :: path
    integer, intent(out), optional :: ierr

    if (present(path)) then
      call finish(c_dump(comm, trim(path) // c_null_char), 'sparsecollCommDump', comm, ierr)
    else
      call finish(c_dump(comm), 'sparsecollCommDump', comm, ierr)
    end if
  end subroutine sparsecollCommDump

  !> Measures the network between the ranks, from which Auto predicts costs. Collective.
  subroutine sparsecollCommMeasure(comm, ierr)
    type(sparsecollComm_t), intent(in) :: comm
    integer, intent(out), optional :: ierr

    call finish(c_measure(comm), 'sparsecollCommMeasure', comm, ierr)
  end subroutine sparsecollCommMeasure

  !> Opens a group: the verbs on `comm` until sparsecollGroupEnd share messages. Their
  !> arrays and structures belong to the library until the group has ended.
  subroutine sparsecollGroupStart(comm, ierr)
    type(sparsecollComm_t), intent(in) :: comm
    integer, intent(out), optional :: ierr

    call finish(c_group_start(comm), 'sparsecollGroupStart', comm, ierr)
  end subroutine sparsecollGroupStart

  !> Ends the group and makes its calls.
  subroutine sparsecollGroupEnd(comm, ierr)
    type(sparsecollComm_t), intent(in) :: comm
    integer, intent(out), optional :: ierr

    call finish(c_group_end(comm), 'sparsecollGroupEnd', comm, ierr)
  end subroutine sparsecollGroupEnd
end module sparsecoll_communicators
