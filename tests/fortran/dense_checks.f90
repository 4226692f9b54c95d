! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Compares all forms of sparseAllreduce and gtopkAllreduce with the serial definitions.
module dense_checks
  use, intrinsic :: iso_c_binding, only: c_double, c_float, c_loc, c_null_ptr, c_size_t
  use serial
  use sparsecoll
  use verdict
  implicit none
  private
  public :: check_dense_forms

  integer, parameter :: n = 210, steps = 4
  integer(c_size_t), parameter :: k = 9

contains

  subroutine check_dense_forms(comm, found)
    type(sparsecollComm_t), intent(in) :: comm
    type(verdict_t), intent(inout) :: found

    call check_sparse_allreduce(comm, found)
    call check_gtopk_allreduce(comm, found)
    call check_without_residual(comm, found)
    call check_addresses(comm, found)
  end subroutine check_dense_forms

  !> Checks two arrays of rank 2 and kind c_float, with error feedback over several steps.
  subroutine check_sparse_allreduce(comm, found)
    type(sparsecollComm_t), intent(in) :: comm
    type(verdict_t), intent(inout) :: found
    type(sparsecollResidual_t) :: residual
    real(c_float) :: mine(n / 10, 10), total(n / 10, 10), kept(n)
    real(c_double), allocatable :: acc(:, :)
    real(c_double) :: expected(n)
    integer :: P, rank, step

    call sparsecollCommCount(comm, P)
    call sparsecollCommRank(comm, rank)
    allocate (acc(n, 0:P - 1), source=0.0_c_double)
    call sparsecollResidualCreate(residual, int(n, c_size_t), sparsecollFloat32, comm)
    do step = 1, steps
      acc = acc + gradients(n, P, step)
      call sparse_allreduce(acc, int(k), expected)
      mine = reshape(real(row(rank, step), c_float), shape(mine))
      total = 77
      call sparseAllreduce(mine, total, k, sparsecollAvg, residual, comm)
      call expect(found, all(reshape(total, [n]) == real(expected / P, c_float)), &
        'sparseAllreduce, c_float')
      call sparsecollResidualRead(residual, kept)
      call expect(found, all(kept == real(acc(:, rank), c_float)), 'its residual')
    end do
    call sparsecollResidualDestroy(residual)
  end subroutine check_sparse_allreduce

  !> Checks one array of kind c_double, in place.
  subroutine check_gtopk_allreduce(comm, found)
    type(sparsecollComm_t), intent(in) :: comm
    type(verdict_t), intent(inout) :: found
    type(sparsecollResidual_t) :: residual
    real(c_double) :: buffer(n), kept(n), expected(n)
    real(c_double), allocatable :: acc(:, :)
    integer :: P, rank, step

    call sparsecollCommCount(comm, P)
    call sparsecollCommRank(comm, rank)
    allocate (acc(n, 0:P - 1), source=0.0_c_double)
    call sparsecollResidualCreate(residual, int(n, c_size_t), sparsecollFloat64, comm)
    do step = 1, steps
      acc = acc + gradients(n, P, step)
      call gtopk_allreduce(acc, int(k), expected)
      buffer = row(rank, step)
      call gtopkAllreduce(buffer, k, sparsecollSum, residual, comm)
      call expect(found, all(buffer == expected), 'gtopkAllreduce in place, c_double')
      call sparsecollResidualRead(residual, kept)
      call expect(found, all(kept == acc(:, rank)), 'its residual')
    end do
    call sparsecollResidualDestroy(residual)
  end subroutine check_gtopk_allreduce

  !> Checks the other kinds of each form, and arrays that are not contiguous.
  subroutine check_without_residual(comm, found)
    type(sparsecollComm_t), intent(in) :: comm
    type(verdict_t), intent(inout) :: found
    real(c_double) :: mine(n), total(2 * n), expected(n)
    real(c_float) :: small(n), sum(n)
    integer :: P, rank
    real(c_double), allocatable :: acc(:, :)

    call sparsecollCommCount(comm, P)
    call sparsecollCommRank(comm, rank)
    acc = gradients(n, P, 5)
    call sparse_allreduce(acc, int(k), expected)
    mine = row(rank, 5)
    total = 77
    call sparseAllreduce(mine, total(1::2), k, sparsecollSum, sparsecollNoResidual, comm)
    call expect(found, all(total(1::2) == expected) .and. all(total(2::2) == 77), &
      'sparseAllreduce, c_double, every second element')
    call sparseAllreduce(mine, k, sparsecollSum, sparsecollNoResidual, comm)
    call expect(found, all(mine == expected), 'sparseAllreduce in place, c_double')
    small = real(row(rank, 5), c_float)
    call sparseAllreduce(small, k, sparsecollSum, sparsecollNoResidual, comm)
    call expect(found, all(small == real(expected, c_float)), 'sparseAllreduce in place, c_float')

    acc = gradients(n, P, 6)
    call gtopk_allreduce(acc, int(k), expected)
    mine = row(rank, 6)
    call gtopkAllreduce(mine, total(:n), k, sparsecollSum, sparsecollNoResidual, comm)
    call expect(found, all(total(:n) == expected), 'gtopkAllreduce, c_double')
    small = real(mine, c_float)
    call gtopkAllreduce(small, sum, k, sparsecollSum, sparsecollNoResidual, comm)
    call expect(found, all(sum == real(expected, c_float)), 'gtopkAllreduce, c_float')
    call gtopkAllreduce(small, k, sparsecollSum, sparsecollNoResidual, comm)
    call expect(found, all(small == real(expected, c_float)), 'gtopkAllreduce in place, c_float')
  end subroutine check_without_residual

  !> Checks the forms with addresses, as in C, and k = 0.
  subroutine check_addresses(comm, found)
    type(sparsecollComm_t), intent(in) :: comm
    type(verdict_t), intent(inout) :: found
    real(c_float), target :: mine(n), total(n)
    real(c_double) :: nothing(0)
    real(c_double) :: expected(n)
    real(c_double), allocatable :: acc(:, :)
    integer :: P, rank

    call sparsecollCommCount(comm, P)
    call sparsecollCommRank(comm, rank)
    acc = gradients(n, P, 7)
    call sparse_allreduce(acc, int(k), expected)
    mine = real(row(rank, 7), c_float)
    total = 77
    call sparseAllreduce(c_loc(mine), c_loc(total), int(n, c_size_t), k, sparsecollFloat32, &
      sparsecollSum, sparsecollNoResidual, comm, c_null_ptr)
    call expect(found, all(total == real(expected, c_float)), 'sparseAllreduce of addresses')
    acc = gradients(n, P, 7)
    call gtopk_allreduce(acc, int(k), expected)
    call gtopkAllreduce(c_loc(mine), c_loc(total), int(n, c_size_t), k, sparsecollFloat32, &
      sparsecollSum, sparsecollNoResidual, comm, c_null_ptr)
    call expect(found, all(total == real(expected, c_float)), 'gtopkAllreduce of addresses')
    call sparseAllreduce(nothing, k, sparsecollSum, sparsecollNoResidual, comm)
    call sparseAllreduce(mine, total, 0_c_size_t, sparsecollSum, sparsecollNoResidual, comm)
    call expect(found, all(total == 0), 'k = 0')
  end subroutine check_addresses

  function row(rank, step) result(values)
    integer, intent(in) :: rank, step
    real(c_double) :: values(n)
    integer :: i

    values = [(gradient(rank, i, step), i=0, n - 1)]
  end function row
end module dense_checks
