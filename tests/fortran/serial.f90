! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> The definitions of the verbs, computed for all ranks from the arguments alone. Values
!> are small whole numbers, so that every sum of them is exact in both kinds.
module serial
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: gradient, gradients, largest, sparse_allreduce, gtopk_allreduce

contains

  !> Returns the value of rank `rank` at index `i`, both counted from 0.
  elemental function gradient(rank, i, step) result(value)
    integer, intent(in) :: rank, i, step
    real(real64) :: value

    value = modulo(7919 * i + 4729 * rank * rank + 613 * step * (i + 3 * rank), 2003) - 1001
  end function gradient

  function gradients(n, P, step) result(all)
    integer, intent(in) :: n, P, step
    real(real64) :: all(n, 0:P - 1)
    integer :: i, rank

    do rank = 0, P - 1
      all(:, rank) = [(gradient(rank, i, step), i=0, n - 1)]
    end do
  end function gradients

  !> Returns which k entries have the largest magnitudes. Ties select the lowest index; zeros are
  !> never selected.
  function largest(x, k) result(chosen)
    real(real64), intent(in) :: x(:)
    integer, intent(in) :: k
    logical :: chosen(size(x))
    integer :: round, at

    chosen = .false.
    do round = 1, min(k, count(x /= 0))
      at = maxloc(abs(x), mask=.not. chosen .and. x /= 0, dim=1)
      chosen(at) = .true.
    end do
  end function largest

  !> Computes sparseAllreduce. On input acc is gradients + residuals, on output the residuals.
  subroutine sparse_allreduce(acc, k, total)
    real(real64), intent(inout) :: acc(:, 0:)
    integer, intent(in) :: k
    real(real64), intent(out) :: total(:)
    logical :: mine(size(acc, 1), 0:size(acc, 2) - 1), delivered(size(acc, 1))
    integer :: rank

    total = 0
    do rank = 0, size(acc, 2) - 1
      mine(:, rank) = largest(acc(:, rank), k)
      total = total + merge(acc(:, rank), 0.0_real64, mine(:, rank))
    end do
    delivered = largest(total, k)
    total = merge(total, 0.0_real64, delivered)
    do rank = 0, size(acc, 2) - 1
      where (mine(:, rank) .and. delivered) acc(:, rank) = 0
    end do
  end subroutine sparse_allreduce

  !> Computes gtopkAllreduce, with the conserving residual rule.
  subroutine gtopk_allreduce(acc, k, total)
    real(real64), intent(inout) :: acc(:, 0:)
    integer, intent(in) :: k
    real(real64), intent(out) :: total(:)
    logical :: mine(size(acc, 1), 0:size(acc, 2) - 1), kept(size(acc, 1))
    real(real64) :: held(size(acc, 1), 0:size(acc, 2) - 1)
    real(real64) :: dropped(size(acc, 1), 0:size(acc, 2) - 1)
    integer :: rank, distance, P

    P = size(acc, 2)
    do rank = 0, P - 1
      mine(:, rank) = largest(acc(:, rank), k)
      held(:, rank) = merge(acc(:, rank), 0.0_real64, mine(:, rank))
    end do
    dropped = 0
    distance = 1
    do while (distance < P)
      do rank = 0, P - 1 - distance, 2 * distance
        held(:, rank) = held(:, rank) + held(:, rank + distance)
        kept = largest(held(:, rank), k)
        dropped(:, rank) = dropped(:, rank) + merge(0.0_real64, held(:, rank), kept)
        held(:, rank) = merge(held(:, rank), 0.0_real64, kept)
      end do
      distance = 2 * distance
    end do
    total = held(:, 0)
    do rank = 0, P - 1
      where (total /= 0)
        acc(:, rank) = merge(0.0_real64, acc(:, rank), mine(:, rank)) + dropped(:, rank)
      end where
    end do
  end subroutine gtopk_allreduce
end module serial
