! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Counts and prints the failed checks of a rank.
module verdict
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  private
  public :: verdict_t, expect

  type :: verdict_t
    integer :: rank = 0
    integer :: checks = 0
    integer :: failures = 0
  end type verdict_t

contains

  subroutine expect(found, good, what)
    type(verdict_t), intent(inout) :: found
    logical, intent(in) :: good
    character(*), intent(in) :: what

    found%checks = found%checks + 1
    if (good) return
    found%failures = found%failures + 1
    write (error_unit, '(a,i0,2a)') 'rank ', found%rank, ': ', what
  end subroutine expect
end module verdict
