! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Keeps ghost values, which are copies of values of other ranks' vertices, up to date by
!> sparseAlltoall.
!>
!> The index space consists of the ghost slots of all ranks, in rank order: slots [slot_bounds(r+1),
!> slot_bounds(r+2)) belong to rank r. If several ranks need a vertex, it has a slot on each of
!> them, and its owner sends it several times, with different indices.
module ghost_values
  use, intrinsic :: iso_c_binding, only: c_int64_t, c_size_t
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08
  use sparsecoll
  implicit none
  private
  public :: ghosts_t, connect, update

  type :: ghosts_t
    integer(c_int64_t), allocatable :: vertex(:)       !< needed by this rank, increasing, from 0
    integer(c_size_t), allocatable :: slot_bounds(:)
    integer(c_int64_t), allocatable :: slot(:)         !< slots to which this rank sends, increasing
    integer(c_int64_t), allocatable :: source(:)       !< by slot: its own vertex to send, from 0
    type(sparsecollComm_t) :: comm
  end type ghosts_t

contains

  !> Sends the owners the vertices that this rank needs. Rank r owns the vertices
  !> [rows(r+1), rows(r+2)). Collective.
  function connect(needed, rows, comm) result(ghosts)
    integer(c_int64_t), intent(in) :: needed(:)
    integer(c_size_t), intent(in) :: rows(:)
    type(sparsecollComm_t), intent(in) :: comm
    type(ghosts_t) :: ghosts
    integer(c_int64_t), allocatable, target :: vertex(:), slot(:), asked(:), asked_slot(:)
    type(sparsecollSparse_t) :: send, recv
    integer :: rank, P, i, ierr

    call sparsecollCommRank(comm, rank)
    call sparsecollCommCount(comm, P)
    ghosts%comm = comm
    vertex = needed
    allocate (ghosts%slot_bounds(P + 1), source=0_c_size_t)
    call MPI_Allgather(size(needed, kind=c_size_t), 1, MPI_INTEGER8, ghosts%slot_bounds(2:), 1, &
      MPI_INTEGER8, MPI_COMM_WORLD)
    do i = 1, P
      ghosts%slot_bounds(i + 1) = ghosts%slot_bounds(i) + ghosts%slot_bounds(i + 1)
    end do

    ! A request is an entry whose index is the vertex and whose value is the slot. The number of
    ! requests to receive is unknown. Hence the first call has no room for them and returns the
    ! number.
    slot = [(ghosts%slot_bounds(rank + 1) + i - 1, i=1, size(needed))]
    send = sparsecollSparse_t(vertex, slot, rows(P + 1))
    allocate (asked(0), asked_slot(0))
    recv = sparsecollSparse_t(asked, asked_slot, rows(P + 1))
    call sparseAlltoall(send, recv, bounds=rows, comm=comm, ierr=ierr)
    if (ierr == sparsecollTruncated) then
      deallocate (asked, asked_slot)
      allocate (asked(recv%needed), asked_slot(recv%needed))
      recv = sparsecollSparse_t(asked, asked_slot, rows(P + 1))
      call sparsecollFetch(recv, comm=comm)
    else if (ierr /= sparsecollSuccess) then
      error stop 'sparseAlltoall'
    end if
    ! The entries are sorted by rank and, for each rank, by vertex. Slots have this order, too, so
    ! that they increase.
    ghosts%vertex = vertex
    ghosts%slot = asked_slot
    ghosts%source = asked - int(rows(rank + 1), c_int64_t)
  end function connect

  !> Fills x(own+1:) with the ghost values; x(:own) are this rank's own values. Collective.
  subroutine update(ghosts, own, x)
    type(ghosts_t), intent(in) :: ghosts
    integer, intent(in) :: own
    real(real64), intent(inout) :: x(:)
    integer(c_int64_t), target :: slot(size(ghosts%slot)), received_slot(size(ghosts%vertex))
    real(real64), target :: value(size(ghosts%slot)), received(size(ghosts%vertex))
    type(sparsecollSparse_t) :: send, recv
    integer :: rank, P

    call sparsecollCommRank(ghosts%comm, rank)
    P = size(ghosts%slot_bounds) - 1
    slot = ghosts%slot
    value = x(ghosts%source + 1)
    send = sparsecollSparse_t(slot, value, ghosts%slot_bounds(P + 1))
    recv = sparsecollSparse_t(received_slot, received, ghosts%slot_bounds(P + 1))
    call sparseAlltoall(send, recv, bounds=ghosts%slot_bounds, comm=ghosts%comm)
    if (recv%nnz /= size(received)) error stop 'a ghost got no value'
    x(own + 1 + received_slot - ghosts%slot_bounds(rank + 1)) = received
  end subroutine update
end module ghost_values
