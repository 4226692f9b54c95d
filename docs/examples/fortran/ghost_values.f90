! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Values of vertices that other ranks own, kept up to date by sparseAlltoall.
!>
!> The ghost slots of all ranks, one behind the other, are the index space: slots
!> [slot_bounds(r+1), slot_bounds(r+2)) belong to rank r. A vertex that several ranks need has a
!> slot at each of them, so its owner sends it several times, under several indices.
module ghost_values
  use, intrinsic :: iso_c_binding, only: c_int64_t, c_size_t
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08
  use sparsecoll
  implicit none
  private
  public :: ghosts_t, connect, update

  type :: ghosts_t
    integer(c_int64_t), allocatable :: vertex(:)       !< what this rank needs, rising, from 0
    integer(c_size_t), allocatable :: slot_bounds(:)
    integer(c_int64_t), allocatable :: slot(:)         !< where this rank sends to, rising
    integer(c_int64_t), allocatable :: source(:)       !< from which vertex of its own, from 0
    type(sparsecollComm_t) :: comm
  end type ghosts_t

contains

  !> Tells the owners who needs what. Rank r owns the vertices [rows(r+1), rows(r+2)).
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

    ! A request is an entry at the vertex, whose value is the slot. How many will come is not known:
    ! the first call says it.
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
    ! Ordered by rank and, per rank, by vertex: so are the slots, which therefore rise.
    ghosts%vertex = vertex
    ghosts%slot = asked_slot
    ghosts%source = asked - int(rows(rank + 1), c_int64_t)
  end function connect

  !> Fills x(own+1:) with the values of the ghosts; x(:own) are this rank's.
  subroutine update(ghosts, own, x)
    type(ghosts_t), intent(in) :: ghosts
    integer, intent(in) :: own
    real(real64), intent(inout) :: x(:)
    integer(c_int64_t), target :: slot(size(ghosts%slot)), came_at(size(ghosts%vertex))
    real(real64), target :: value(size(ghosts%slot)), came(size(ghosts%vertex))
    type(sparsecollSparse_t) :: send, recv
    integer :: rank, P

    call sparsecollCommRank(ghosts%comm, rank)
    P = size(ghosts%slot_bounds) - 1
    slot = ghosts%slot
    value = x(ghosts%source + 1)
    send = sparsecollSparse_t(slot, value, ghosts%slot_bounds(P + 1))
    recv = sparsecollSparse_t(came_at, came, ghosts%slot_bounds(P + 1))
    call sparseAlltoall(send, recv, bounds=ghosts%slot_bounds, comm=ghosts%comm)
    if (recv%nnz /= size(came)) error stop 'a ghost got no value'
    x(own + 1 + came_at - ghosts%slot_bounds(rank + 1)) = came
  end subroutine update
end module ghost_values
