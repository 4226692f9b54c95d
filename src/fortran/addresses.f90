! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Addresses of arrays for C, used by several modules.
module sparsecoll_addresses
  use, intrinsic :: iso_c_binding, only: c_int, c_intptr_t, c_loc, c_null_ptr, c_ptr, c_size_t
  use sparsecoll_queries, only: sparsecollCommCount
  use sparsecoll_types
  implicit none
  private
  public :: address_if, address_per_rank, block_size

contains

  !> Returns the number of values of an entry.
  pure function block_size(sparse)
    type(sparsecollSparse_t), intent(in) :: sparse
    integer(c_size_t) :: block_size

    block_size = max(sparse%blockSize, 1_c_size_t)
  end function block_size

  !> Returns the address of an array. For an array of the wrong size or kind it is an address that
  !> no array has: the library refuses it by the argument's name and notifies the other ranks.
  function address_if(fits, address) result(checked)
    logical, intent(in) :: fits
    type(c_ptr), intent(in) :: address
    type(c_ptr) :: checked

    checked = transfer(1_c_intptr_t, c_null_ptr)
    if (fits) checked = address
  end function address_if

  !> Returns the address of an array with an entry for every rank and `more` others; NULL for an
  !> absent array.
  function address_per_rank(counts, more, comm) result(address)
    integer(c_size_t), contiguous, target, intent(in), optional :: counts(:)
    integer, intent(in) :: more
    type(sparsecollComm_t), intent(in) :: comm
    type(c_ptr) :: address
    integer(c_int) :: P
    integer :: ierr

    address = c_null_ptr
    if (.not. present(counts)) return
    P = 0
    call sparsecollCommCount(comm, P, ierr)
    address = address_if(size(counts, kind=c_size_t) >= P + more, c_loc(counts))
  end function address_per_rank
end module sparsecoll_addresses
