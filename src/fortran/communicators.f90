! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> The functions of communicators. initialization.f90 has those that make one.
module sparsecoll_communicators
  use, intrinsic :: iso_c_binding, only: c_char, c_funptr, c_int, c_int64_t, c_null_char, c_ptr
  use sparsecoll_errors, only: finish
  use sparsecoll_types
  implicit none
  private
  public :: sparsecollCommRank, sparsecollCommCount
  public :: sparsecollCommGetSequence, sparsecollCommSynchronize, sparsecollCommWait
  public :: sparsecollCommNotify, sparsecollNotify
  public :: sparsecollCommStreamWait, sparsecollCommDestroy, sparsecollCommAbort
  public :: sparsecollCommGetAsyncError, sparsecollCommGetStats, sparsecollGroupStart
  public :: sparsecollCommDump, sparsecollCommGetTopology, sparsecollCommMeasure
  public :: sparsecollCommGetFailed, sparsecollGroupEnd

  abstract interface
    !> The interface of the function of sparsecollCommNotify, which gets its address by c_funloc.
    subroutine sparsecollNotify(user, sequence, result) bind(C)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: user
      integer(c_int64_t), value :: sequence
      integer(c_int), value :: result
    end subroutine sparsecollNotify
  end interface

  interface
    function c_rank(comm, rank) bind(C, name="sparsecollCommRank")
      import :: c_int, sparsecollComm_t
      type(sparsecollComm_t), value :: comm
      integer(c_int), intent(inout) :: rank
      integer(c_int) :: c_rank
    end function c_rank

    function c_count(comm, count) bind(C, name="sparsecollCommCount")
      import :: c_int, sparsecollComm_t
      type(sparsecollComm_t), value :: comm
      integer(c_int), intent(inout) :: count
      integer(c_int) :: c_count
    end function c_count

    function c_get_sequence(comm, sequence) bind(C, name="sparsecollCommGetSequence")
      import :: c_int, c_int64_t, sparsecollComm_t
      type(sparsecollComm_t), value :: comm
      integer(c_int64_t), intent(inout) :: sequence
      integer(c_int) :: c_get_sequence
    end function c_get_sequence

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

    function c_get_async_error(comm, error) bind(C, name="sparsecollCommGetAsyncError")
      import :: c_int, sparsecollComm_t
      type(sparsecollComm_t), value :: comm
      integer(c_int), intent(inout) :: error
      integer(c_int) :: c_get_async_error
    end function c_get_async_error

    function c_get_stats(comm, which, stats) bind(C, name="sparsecollCommGetStats")
      import :: c_int, sparsecollComm_t, sparsecollStats_t
      type(sparsecollComm_t), value :: comm
      integer(c_int), value :: which
      type(sparsecollStats_t), intent(inout) :: stats
      integer(c_int) :: c_get_stats
    end function c_get_stats

    function c_get_topology(comm, topology) bind(C, name="sparsecollCommGetTopology")
      import :: c_int, sparsecollComm_t, sparsecollTopology_t
      type(sparsecollComm_t), value :: comm
      type(sparsecollTopology_t), intent(inout) :: topology
      integer(c_int) :: c_get_topology
    end function c_get_topology

    function c_get_failed(comm, ranks, count) bind(C, name="sparsecollCommGetFailed")
      import :: c_int, sparsecollComm_t
      type(sparsecollComm_t), value :: comm
      integer(c_int), intent(inout), optional :: ranks(*)
      integer(c_int), intent(inout) :: count
      integer(c_int) :: c_get_failed
    end function c_get_failed

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

  !> This rank's number, 0 to P - 1.
  subroutine sparsecollCommRank(comm, rank, ierr)
    type(sparsecollComm_t), intent(in) :: comm
    integer(c_int), intent(inout) :: rank
    integer, intent(out), optional :: ierr

    call finish(c_rank(comm, rank), 'sparsecollCommRank', comm, ierr)
  end subroutine sparsecollCommRank

  !> P.
  subroutine sparsecollCommCount(comm, count, ierr)
    type(sparsecollComm_t), intent(in) :: comm
    integer(c_int), intent(inout) :: count
    integer, intent(out), optional :: ierr

    call finish(c_count(comm, count), 'sparsecollCommCount', comm, ierr)
  end subroutine sparsecollCommCount

  !> The number of the last collective call on this communicator (0 = none yet).
  subroutine sparsecollCommGetSequence(comm, sequence, ierr)
    type(sparsecollComm_t), intent(in) :: comm
    integer(c_int64_t), intent(inout) :: sequence
    integer, intent(out), optional :: ierr

    call finish(c_get_sequence(comm, sequence), 'sparsecollCommGetSequence', comm, ierr)
  end subroutine sparsecollCommGetSequence

  !> Waits for every queued call and gives the first error among them.
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

  !> Has `done`, of the interface sparsecollNotify, called once with `user` when the collective call
  !> with this number has ended: on a thread of the communicator where calls are queued, else before
  !> this returns.
  subroutine sparsecollCommNotify(comm, sequence, done, user, ierr)
    type(sparsecollComm_t), intent(in) :: comm
    integer(c_int64_t), intent(in) :: sequence
    type(c_funptr), intent(in) :: done
    type(c_ptr), intent(in) :: user
    integer, intent(out), optional :: ierr

    call finish(c_notify(comm, sequence, done, user), 'sparsecollCommNotify', comm, ierr)
  end subroutine sparsecollCommNotify

  !> Orders a stream of the device after the device work of every call so far, without waiting for
  !> that work. Does nothing where no call had buffers on a device. `stream`: a cudaStream_t;
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

  !> Ends whatever this rank is doing on `comm`, from any thread.
  subroutine sparsecollCommAbort(comm, ierr)
    type(sparsecollComm_t), intent(in) :: comm
    integer, intent(out), optional :: ierr

    call finish(c_abort(comm), 'sparsecollCommAbort', comm, ierr)
  end subroutine sparsecollCommAbort

  !> The error that poisoned the communicator, else sparsecollInProgress while queued calls are not
  !> done, else sparsecollSuccess.
  subroutine sparsecollCommGetAsyncError(comm, asyncError, ierr)
    type(sparsecollComm_t), intent(in) :: comm
    integer(c_int), intent(inout) :: asyncError
    integer, intent(out), optional :: ierr

    call finish(c_get_async_error(comm, asyncError), 'sparsecollCommGetAsyncError', comm, ierr)
  end subroutine sparsecollCommGetAsyncError

  !> Returns the statistics of this rank's verbs; `which` is
  !> sparsecollStatsLast or sparsecollStatsTotal.
  subroutine sparsecollCommGetStats(comm, which, stats, ierr)
    type(sparsecollComm_t), intent(in) :: comm
    integer(c_int), intent(in) :: which
    type(sparsecollStats_t), intent(inout) :: stats
    integer, intent(out), optional :: ierr

    call finish(c_get_stats(comm, which, stats), 'sparsecollCommGetStats', comm, ierr)
  end subroutine sparsecollCommGetStats

  !> Returns where this rank is, and the groups of ranks on each level. All ranks call it the first
  !> time.
  subroutine sparsecollCommGetTopology(comm, topology, ierr)
    type(sparsecollComm_t), intent(in) :: comm
    type(sparsecollTopology_t), intent(inout) :: topology
    integer, intent(out), optional :: ierr

    call finish(c_get_topology(comm, topology), 'sparsecollCommGetTopology', comm, ierr)
  end subroutine sparsecollCommGetTopology

  !> Returns the ranks that are known to be gone. `count` is at first the room in `ranks`, which may
  !> be left out, and then their number.
  subroutine sparsecollCommGetFailed(comm, ranks, count, ierr)
    type(sparsecollComm_t), intent(in) :: comm
    integer(c_int), intent(inout), optional :: ranks(*)
    integer(c_int), intent(inout) :: count
    integer, intent(out), optional :: ierr

    call finish(c_get_failed(comm, ranks, count), 'sparsecollCommGetFailed', comm, ierr)
  end subroutine sparsecollCommGetFailed

  !> Writes what this rank's last calls did to a file; without a path to that of
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

  !> Opens a group: the verbs on `comm` until sparsecollGroupEnd travel in shared messages. Their
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
