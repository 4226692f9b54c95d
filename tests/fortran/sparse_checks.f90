! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Compares verbs with sparse vectors with the serial definitions.
module sparse_checks
  use, intrinsic :: iso_c_binding, only: c_double, c_f_pointer, c_float, c_int32_t, c_int64_t, &
    c_loc, c_null_ptr, c_size_t
  use serial
  use sparsecoll
  use verdict
  implicit none
  private
  public :: check_sparse_forms

  integer, parameter :: n = 150, k = 8

contains

  subroutine check_sparse_forms(comm, found)
    type(sparsecollComm_t), intent(in) :: comm
    type(verdict_t), intent(inout) :: found

    call check_reduce_scatter(comm, found)
    call check_composition(comm, found)
    call check_exact_sum(comm, found)
    call check_integers(comm, found)
    call check_blocks(comm, found)
    call check_long_arrays(found)
  end subroutine check_sparse_forms

  !> Checks the sum of blocks of three values: rank r has the blocks r and P, filled with r + 1.
  subroutine check_blocks(comm, found)
    type(sparsecollComm_t), intent(in) :: comm
    type(verdict_t), intent(inout) :: found
    integer(c_size_t), parameter :: three = 3
    integer(c_int32_t), target :: indices(2)
    integer(c_int32_t), allocatable, target :: sum_at(:)
    real(c_float), target :: values(6)
    real(c_float), allocatable, target :: total(:)
    type(sparsecollSparse_t) :: send, recv
    integer :: P, rank, i

    call sparsecollCommCount(comm, P)
    call sparsecollCommRank(comm, rank)
    allocate (sum_at(P + 1), total(3 * (P + 1)))
    indices = [rank, P]
    values = rank + 1
    send = sparsecollSparse_t(indices, values, count=P + 1_c_size_t, blockSize=three)
    recv = sparsecollSparse_t(sum_at, total, count=0_c_size_t, blockSize=three)
    call expect(found, send%nnz == 2 .and. recv%capacity == P + 1, 'capacities in blocks')
    call sparseAllreducev(send, recv, SPARSECOLL_ALL, sparsecollSum, sparsecollNoResidual, comm)
    call expect(found, recv%nnz == P + 1 .and. all(sum_at == [(i, i=0, P)]), 'indices of blocks')
    call expect(found, all(total == [([i, i, i], i=1, P), [1, 1, 1] * (P * (P + 1) / 2)]), &
      'a sum of blocks')
  end subroutine check_blocks

  !> Checks capacities beyond the default integer. The arrays have no memory behind them.
  subroutine check_long_arrays(found)
    type(verdict_t), intent(inout) :: found
    integer(c_size_t), parameter :: long = 5 * 2_c_size_t**30
    integer(c_int64_t), target :: here
    integer(c_int64_t), pointer, contiguous :: indices(:)
    real(c_float), pointer, contiguous :: values(:)
    type(sparsecollSparse_t) :: sparse

    call c_f_pointer(c_loc(here), indices, [long])
    call c_f_pointer(c_loc(here), values, [long + 1])
    sparse = sparsecollSparse_t(indices, values, 2 * long)
    call expect(found, sparse%capacity == long .and. sparse%nnz == long, 'more than 2^32 entries')
  end subroutine check_long_arrays

  !> Checks sparseReduceScatter with and without bounds. Every selected entry is delivered.
  subroutine check_reduce_scatter(comm, found)
    type(sparsecollComm_t), intent(in) :: comm
    type(verdict_t), intent(inout) :: found
    integer(c_int32_t), target :: indices(n)
    real(c_float), target :: values(n)
    integer(c_int64_t), target :: indices64(n)
    real(c_double), target :: values64(n)
    real(c_double) :: expected(n), mine(n)
    integer(c_size_t), allocatable :: bounds(:)
    type(sparsecollSparse_t) :: part
    type(sparsecollResidual_t) :: residual
    real(c_float) :: kept(n)
    integer :: P, rank, i

    call sparsecollCommCount(comm, P)
    call sparsecollCommRank(comm, rank)
    expected = sum_of_selections(P, step=1)
    mine = [(gradient(rank, i, 1), i=0, n - 1)]
    call sparsecollResidualCreate(residual, int(n, c_size_t), sparsecollFloat32, comm)
    part = sparsecollSparse_t(indices, values, count=0_c_size_t)
    call sparseReduceScatter(real(mine, c_float), part, int(k, c_size_t), sparsecollSum, &
      residual=residual, comm=comm)
    call expect(found, part%count == n .and. same(part, indices, real(values, c_double), &
      expected, int(rank * n / P), int((rank + 1) * n / P)), 'sparseReduceScatter, equal regions')
    call sparsecollResidualRead(residual, kept)
    call expect(found, all(kept == merge(0.0_c_float, real(mine, c_float), largest(mine, k))), &
      'its residual')
    call sparsecollResidualDestroy(residual)

    allocate (bounds(P + 1), source=int(n, c_size_t))
    bounds(1) = 0
    if (P > 1) bounds(2:P) = [(int(10 * i, c_size_t), i=1, P - 1)]
    part = sparsecollSparse_t(indices64, values64, count=0_c_size_t)
    call sparseReduceScatter(mine, part, int(k, c_size_t), sparsecollSum, bounds, &
      sparsecollNoResidual, comm)
    call expect(found, same(part, int(indices64, c_int32_t), values64, expected, &
      int(bounds(rank + 1)), int(bounds(rank + 2))), 'sparseReduceScatter, borders')
  end subroutine check_reduce_scatter

  !> Checks that sparsecollTopk, a v verb and sparsecollScatter give the result of the dense verb.
  subroutine check_composition(comm, found)
    type(sparsecollComm_t), intent(in) :: comm
    type(verdict_t), intent(inout) :: found
    integer(c_int32_t), target :: indices(k), total_at(k)
    real(c_float), target :: values(k), total(k)
    real(c_float) :: mine(n), dense(n), expected32(n)
    real(c_double), allocatable :: acc(:, :)
    real(c_double) :: expected(n)
    type(sparsecollSparse_t) :: chosen, recv
    integer :: P, rank, i, ierr

    call sparsecollCommCount(comm, P)
    call sparsecollCommRank(comm, rank)
    mine = real([(gradient(rank, i, 2), i=0, n - 1)], c_float)
    chosen = sparsecollSparse_t(indices, values, 0_c_size_t)
    recv = sparsecollSparse_t(total_at, total, 0_c_size_t)
    acc = gradients(n, P, 2)
    call sparse_allreduce(acc, k, expected)
    expected32 = real(expected, c_float)
    call sparsecollTopk(mine, int(k, c_size_t), sparsecollNoResidual, chosen, comm)
    call expect(found, chosen%nnz == k .and. all(values == mine(indices + 1)), 'sparsecollTopk')
    call sparseAllreducev(chosen, recv, int(k, c_size_t), sparsecollSum, sparsecollNoResidual, comm)
    dense = 77
    call sparsecollScatter(recv, dense, comm)
    call expect(found, all(dense == expected32), 'Topk, sparseAllreducev, Scatter')
    acc = gradients(n, P, 2)
    call gtopk_allreduce(acc, k, expected)
    call gtopkAllreducev(chosen, recv, int(k, c_size_t), sparsecollSum, sparsecollNoResidual, comm)
    call sparsecollScatter(recv, dense, comm)
    call expect(found, all(dense == real(expected, c_float)), 'Topk, gtopkAllreducev, Scatter')
    expected32 = dense
    call sparsecollScatter(recv, dense(:n - 1), comm, ierr)
    call expect(found, ierr == sparsecollInvalidArgument, 'Scatter into too few values')
    call sparsecollScatter(recv, acc(:, 1), comm, ierr)
    call expect(found, ierr == sparsecollInvalidArgument, 'Scatter into values of another kind')
    call sparsecollScatterAt(recv, acc(:, 1), 0_c_size_t, comm, ierr)
    call expect(found, ierr == sparsecollInvalidArgument, 'ScatterAt into values of another kind')
    call sparsecollScatterAt(recv, dense(:n - 1), 2_c_size_t, comm, ierr)
    call expect(found, ierr == sparsecollInvalidArgument, 'ScatterAt beyond the vector')
    call expect(found, all(dense == expected32), 'they are untouched')
    dense = 77
    call sparsecollScatterAt(recv, dense, 0_c_size_t, comm)
    call expect(found, all(dense == expected32), 'ScatterAt')
  end subroutine check_composition

  !> Checks sums of all entries, with c_double and 64-bit indices.
  subroutine check_exact_sum(comm, found)
    type(sparsecollComm_t), intent(in) :: comm
    type(verdict_t), intent(inout) :: found
    integer(c_int64_t), target :: indices(n), total_at(n)
    real(c_double), target :: values(n), total(n)
    real(c_double) :: dense(n)
    type(sparsecollSparse_t) :: send, recv
    integer :: P, rank, i

    call sparsecollCommCount(comm, P)
    call sparsecollCommRank(comm, rank)
    indices = [(i, i=0, n - 1)]
    values = [(gradient(rank, i, 3), i=0, n - 1)]
    send = sparsecollSparse_t(indices, values, int(n, c_size_t), nnz=int(n / 2, c_size_t))
    recv = sparsecollSparse_t(total_at, total, 0_c_size_t)
    call sparseAllreducev(send, recv, SPARSECOLL_ALL, sparsecollSum, sparsecollNoResidual, comm)
    call expect(found, recv%nnz == n / 2, 'explicit zeros stay')
    call sparsecollScatter(recv, dense, comm)
    call expect(found, all(dense(:n / 2) == sum(gradients(n / 2, P, 3), dim=2)) .and. &
      all(dense(n / 2 + 1:) == 0), 'the sum of everything')
    dense = 77
    call sparsecollTopk(c_loc(values), int(n, c_size_t), int(n, c_size_t), sparsecollFloat64, &
      sparsecollNoResidual, recv, comm, c_null_ptr)
    call sparsecollScatter(recv, dense, comm)
    call expect(found, all(dense == values), 'Topk of an address')
    dense = 77
    call sparsecollScatterAt(recv, dense, 0_c_size_t, comm)
    call expect(found, all(dense == values), 'ScatterAt of c_double')
    call sparsecollCommMeasure(comm)
  end subroutine check_exact_sum

  !> Checks sums of integers, with both verbs.
  subroutine check_integers(comm, found)
    type(sparsecollComm_t), intent(in) :: comm
    type(verdict_t), intent(inout) :: found
    integer(c_int32_t), target :: indices(3), total_at(3), values(3), total(3)
    integer(c_int64_t), target :: indices64(3), total_at64(3), values64(3), total64(3)
    type(sparsecollSparse_t) :: send, recv
    integer :: P, rank

    call sparsecollCommCount(comm, P)
    call sparsecollCommRank(comm, rank)
    indices = [2, 5, 7]
    values = [1, rank, -3]
    send = sparsecollSparse_t(indices, values, 8_c_size_t)
    recv = sparsecollSparse_t(total_at, total, 0_c_size_t)
    call sparseAllreducev(send, recv, SPARSECOLL_ALL, sparsecollSum, sparsecollNoResidual, comm)
    call expect(found, all(total == [P, P * (P - 1) / 2, -3 * P]), 'sum of 32-bit integers')
    values64 = values * 2_c_int64_t**40
    indices64 = indices * 2_c_int64_t**40
    send = sparsecollSparse_t(indices64, values64, 8 * 2_c_size_t**40)
    recv = sparsecollSparse_t(total_at64, total64, 0_c_size_t)
    call gtopkAllreducev(send, recv, SPARSECOLL_ALL, sparsecollSum, sparsecollNoResidual, comm)
    call expect(found, all(total64 == total * 2_c_int64_t**40) .and. all(total_at64 == indices64), &
      'sum of 64-bit integers')
  end subroutine check_integers

  function sum_of_selections(P, step) result(total)
    integer, intent(in) :: P, step
    real(c_double) :: total(n), all_of_them(n, 0:P - 1)
    integer :: rank

    total = 0
    all_of_them = gradients(n, P, step)
    do rank = 0, P - 1
      associate (mine => all_of_them(:, rank))
        total = total + merge(mine, 0.0_c_double, largest(mine, k))
      end associate
    end do
  end function sum_of_selections

  !> Returns whether `part` equals `expected` in [first, last).
  function same(part, indices, values, expected, first, last)
    type(sparsecollSparse_t), intent(in) :: part
    integer(c_int32_t), intent(in) :: indices(:)
    real(c_double), intent(in) :: values(:), expected(:)
    integer, intent(in) :: first, last
    logical :: same
    real(c_double) :: dense(size(expected)), region(size(expected))
    integer :: m

    m = int(part%nnz)
    dense = 0
    dense(indices(:m) + 1) = values(:m)
    region = 0
    region(first + 1:last) = expected(first + 1:last)
    same = all(indices(:m) >= first .and. indices(:m) < last) .and. all(dense == region)
  end function same
end module sparse_checks
