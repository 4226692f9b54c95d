! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Tests of sparseAlltoall and sparsecollFetch.
module alltoall_checks
  use, intrinsic :: iso_c_binding, only: c_double, c_float, c_int32_t, c_int64_t, c_size_t
  use sparsecoll
  use verdict
  implicit none
  private
  public :: check_exchange

  integer, parameter :: n = 150

contains

  subroutine check_exchange(comm, found)
    type(sparsecollComm_t), intent(in) :: comm
    type(verdict_t), intent(inout) :: found

    call check_alltoall(comm, found)
    call check_truncated(comm, found)
  end subroutine check_exchange

  !> Each rank sends i * 100 + rank at each index i that is a multiple of rank + 2.
  subroutine check_alltoall(comm, found)
    type(sparsecollComm_t), intent(in) :: comm
    type(verdict_t), intent(inout) :: found
    integer(c_int32_t), allocatable, target :: indices(:), came_at(:), expected_at(:)
    real(c_double), allocatable, target :: values(:), came(:)
    integer(c_size_t), allocatable :: recvcounts(:), bounds(:)
    type(sparsecollSparse_t) :: send, recv
    integer :: P, rank, from, i, round, first, last

    call sparsecollCommCount(comm, P)
    call sparsecollCommRank(comm, rank)
    indices = [(i, i=0, n - 1, rank + 2)]
    values = real(indices * 100 + rank, c_double)
    allocate (came_at(n * P), came(n * P), recvcounts(P))
    send = sparsecollSparse_t(indices, values, int(n, c_size_t))
    bounds = [(int((i * n) / P, c_size_t), i=0, P)]
    do round = 1, 3
      recv = sparsecollSparse_t(came_at, came, 0_c_size_t)
      came_at = -1
      recvcounts = -1
      if (round == 2) bounds(2:P) = n  ! everything belongs to rank 0
      if (round < 3) call sparseAlltoall(send, recv, recvcounts, bounds, comm)
      if (round == 3) call sparseAlltoall(send, recv, comm=comm)
      first = int(bounds(rank + 1))
      last = int(bounds(rank + 2)) - 1
      if (round == 3) first = rank * n / P
      if (round == 3) last = (rank + 1) * n / P - 1
      expected_at = [integer ::]
      do from = 0, P - 1
        associate (of_one => pack([(i, i=0, n - 1, from + 2)], &
            [(i >= first .and. i <= last, i=0, n - 1, from + 2)]))
          if (round < 3) call expect(found, recvcounts(from + 1) == size(of_one), 'recvcounts')
          call expect(found, all(came(size(expected_at) + 1:size(expected_at) + size(of_one)) == &
            of_one * 100 + from), 'sparseAlltoall, values')
          expected_at = [expected_at, of_one]
        end associate
      end do
      call expect(found, recv%nnz == size(expected_at), 'sparseAlltoall, number of entries')
      call expect(found, all(came_at(:size(expected_at)) == expected_at), &
        'sparseAlltoall, indices')
    end do
  end subroutine check_alltoall

  !> Fetches a result that does not fit.
  subroutine check_truncated(comm, found)
    type(sparsecollComm_t), intent(in) :: comm
    type(verdict_t), intent(inout) :: found
    integer(c_int64_t), target :: indices(3), small_at(1)
    real(c_float), target :: values(3), small(1)
    integer(c_int64_t), allocatable, target :: room_at(:)
    real(c_float), allocatable, target :: room(:)
    integer(c_size_t), allocatable :: recvcounts(:)
    type(sparsecollSparse_t) :: send, recv
    integer :: P, rank, i, ierr

    call sparsecollCommCount(comm, P)
    call sparsecollCommRank(comm, rank)
    indices = [rank, P + rank, 2 * P + rank]
    indices = indices * 2_c_int64_t**40
    values = rank + 1
    send = sparsecollSparse_t(indices, values, 3 * P * 2_c_size_t**40)
    recv = sparsecollSparse_t(small_at, small, 0_c_size_t)
    allocate (recvcounts(P), source=-1_c_size_t)
    call sparseAlltoall(send, recv, comm=comm, ierr=ierr)
    call expect(found, ierr == sparsecollTruncated .and. recv%needed == 3, 'sparsecollTruncated')
    allocate (room_at(recv%needed), room(recv%needed))
    recv = sparsecollSparse_t(room_at, room, 0_c_size_t)
    call sparsecollFetch(recv, recvcounts, comm)
    call expect(found, recv%nnz == 3 .and. sum(recvcounts) == 3, 'sparsecollFetch')
    call expect(found, all([(any(room_at == (3 * rank + i) * 2_c_int64_t**40), i=0, 2)]), &
      'fetched indices')
    call expect(found, all(nint(room) == int(modulo(room_at / 2_c_int64_t**40, &
      int(P, c_int64_t))) + 1), 'fetched values')
  end subroutine check_truncated
end module alltoall_checks
