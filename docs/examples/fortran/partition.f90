! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Assigns vertices to ranks by recursive coordinate bisection.
module partition
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: owners_of

contains

  !> Returns the owners, from 0, of points with the coordinates at(2, points). The numbers of points
  !> of the ranks differ by about one.
  function owners_of(at, P) result(owner)
    real(real64), intent(in) :: at(:, :)
    integer, intent(in) :: P
    integer :: owner(size(at, 2))
    integer :: i

    call bisect([(i, i=1, size(owner))], [0, P], at, owner)
  end function owners_of

  !> Distributes the points `members` among the ranks [ranks(1), ranks(2)).
  recursive subroutine bisect(members, ranks, at, owner)
    integer, intent(in) :: members(:), ranks(2)
    real(real64), intent(in) :: at(:, :)
    integer, intent(inout) :: owner(:)
    integer :: order(size(members)), middle, cut, axis

    if (ranks(2) - ranks(1) == 1) then
      owner(members) = ranks(1)
      return
    end if
    axis = 1
    if (extent(at(2, members)) > extent(at(1, members))) axis = 2
    order = sorted(members, at(axis, :))
    middle = (ranks(1) + ranks(2)) / 2
    cut = size(members) * (middle - ranks(1)) / (ranks(2) - ranks(1))
    call bisect(order(:cut), [ranks(1), middle], at, owner)
    call bisect(order(cut + 1:), [middle, ranks(2)], at, owner)
  end subroutine bisect

  pure function extent(x)
    real(real64), intent(in) :: x(:)
    real(real64) :: extent

    extent = maxval(x) - minval(x)
  end function extent

  !> Returns the members sorted by increasing key (merge sort).
  recursive function sorted(members, key) result(order)
    integer, intent(in) :: members(:)
    real(real64), intent(in) :: key(:)
    integer :: order(size(members))
    integer :: first(size(members) / 2), second(size(members) - size(members) / 2)
    integer :: i, j, at

    order = members
    if (size(members) < 2) return
    first = sorted(members(:size(first)), key)
    second = sorted(members(size(first) + 1:), key)
    i = 1
    j = 1
    do at = 1, size(order)
      if (j > size(second)) then
        order(at:) = first(i:)
        return
      else if (i > size(first)) then
        order(at:) = second(j:)
        return
      else if (key(first(i)) <= key(second(j))) then
        order(at) = first(i)
        i = i + 1
      else
        order(at) = second(j)
        j = j + 1
      end if
    end do
  end function sorted
end module partition
