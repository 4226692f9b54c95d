! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Queries of a communicator.
module sparsecoll_queries
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t
  use sparsecoll_errors, only: finish
  use sparsecoll_types
  implicit none
  private
  public :: sparsecollCommRank, sparsecollCommCount, sparsecollCommGetSequence
  public :: sparsecollCommGetAsyncError, sparsecollCommGetStats, sparsecollCommGetTopology
  public :: sparsecollCommGetFailed

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
  end interface

contains

  !> Returns this rank's number, 0 to P - 1.
  subroutine sparsecollCommRank(comm, rank, ierr)
    type(sparsecollComm_t), intent(in) :: comm
    integer(c_int), intent(inout) :: rank
    integer, intent(out), optional :: ierr

    call finish(c_rank(comm, rank), 'sparsecollCommRank', comm, ierr)
  end subroutine sparsecollCommRank

  !> Returns the number of ranks, P.
  subroutine sparsecollCommCount(comm, count, ierr)
    type(sparsecollComm_t), intent(in) :: comm
    integer(c_int), intent(inout) :: count
    integer, intent(out), optional :: ierr

    call finish(c_count(comm, count), 'sparsecollCommCount', comm, ierr)
  end subroutine sparsecollCommCount

  !> Returns the number of the last collective call on this communicator (0 = none yet).
  subroutine sparsecollCommGetSequence(comm, sequence, ierr)
    type(sparsecollComm_t), intent(in) :: comm
    integer(c_int64_t), intent(inout) :: sequence
    integer, intent(out), optional :: ierr

    call finish(c_get_sequence(comm, sequence), 'sparsecollCommGetSequence', comm, ierr)
  end subroutine sparsecollCommGetSequence

  !> Returns the error that poisoned the communicator, else sparsecollInProgress while queued calls
  !> are not done, else sparsecollSuccess.
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

  !> Returns the node and the groups of this rank, level by level. All ranks call it the first
  !> time.
  subroutine sparsecollCommGetTopology(comm, topology, ierr)
    type(sparsecollComm_t), intent(in) :: comm
    type(sparsecollTopology_t), intent(inout) :: topology
    integer, intent(out), optional :: ierr

    call finish(c_get_topology(comm, topology), 'sparsecollCommGetTopology', comm, ierr)
  end subroutine sparsecollCommGetTopology

  !> Returns the ranks that are known to be gone. On entry `count` is the size of `ranks`, which may
  !> be absent; on return it is the number of these ranks.
  subroutine sparsecollCommGetFailed(comm, ranks, count, ierr)
    type(sparsecollComm_t), intent(in) :: comm
    integer(c_int), intent(inout), optional :: ranks(*)
    integer(c_int), intent(inout) :: count
    integer, intent(out), optional :: ierr

    call finish(c_get_failed(comm, ranks, count), 'sparsecollCommGetFailed', comm, ierr)
  end subroutine sparsecollCommGetFailed
end module sparsecoll_queries
