! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Sends every entry to the owner of its index, and fetches results that did not fit.
module sparsecoll_alltoall
  use, intrinsic :: iso_c_binding, only: c_int, c_null_ptr, c_ptr, c_size_t
  use sparsecoll_addresses, only: address_per_rank
  use sparsecoll_errors, only: finish
  use sparsecoll_types
  implicit none
  private
  public :: sparseAlltoall, sparsecollFetch

  interface
    function c_alltoall(send, recv, recvcounts, bounds, comm, stream) &
        bind(C, name="sparseAlltoall")
      import :: c_int, c_ptr, sparsecollComm_t, sparsecollSparse_t
      type(sparsecollSparse_t), intent(in) :: send
      type(sparsecollSparse_t), intent(inout) :: recv
      type(c_ptr), value :: recvcounts, bounds
      type(sparsecollComm_t), value :: comm
      type(c_ptr), value :: stream
      integer(c_int) :: c_alltoall
    end function c_alltoall

    function c_fetch(recv, recvcounts, comm, stream) bind(C, name="sparsecollFetch")
      import :: c_int, c_ptr, sparsecollComm_t, sparsecollSparse_t
      type(sparsecollSparse_t), intent(inout) :: recv
      type(c_ptr), value :: recvcounts
      type(sparsecollComm_t), value :: comm
      type(c_ptr), value :: stream
      integer(c_int) :: c_fetch
    end function c_fetch
  end interface

contains

  !> Sends every entry of `send` to the rank whose region [bounds(r),
  !> bounds(r+1)) has its index. If recvcounts (P) or bounds (P + 1) is
  !> absent, pass the arguments after it by name.
  subroutine sparseAlltoall(send, recv, recvcounts, bounds, comm, ierr)
    type(sparsecollSparse_t), target, intent(in) :: send
    type(sparsecollSparse_t), target, intent(inout) :: recv
    integer(c_size_t), contiguous, target, intent(inout), optional :: recvcounts(:)
    integer(c_size_t), contiguous, target, intent(in), optional :: bounds(:)
    type(sparsecollComm_t), intent(in) :: comm
    integer, intent(out), optional :: ierr
    integer(c_int) :: result

    result = c_alltoall(send, recv, address_per_rank(recvcounts, 0, comm), &
      address_per_rank(bounds, 1, comm), comm, c_null_ptr)
    call finish(result, 'sparseAlltoall', comm, ierr)
  end subroutine sparseAlltoall

  !> Gets the result of the call that just gave sparsecollTruncated. If recvcounts is absent, pass
  !> the arguments after it by name.
  subroutine sparsecollFetch(recv, recvcounts, comm, ierr)
    type(sparsecollSparse_t), target, intent(inout) :: recv
    integer(c_size_t), contiguous, target, intent(inout), optional :: recvcounts(:)
    type(sparsecollComm_t), intent(in) :: comm
    integer, intent(out), optional :: ierr
    integer(c_int) :: result

    result = c_fetch(recv, address_per_rank(recvcounts, 0, comm), comm, c_null_ptr)
    call finish(result, 'sparsecollFetch', comm, ierr)
  end subroutine sparsecollFetch
end module sparsecoll_alltoall
