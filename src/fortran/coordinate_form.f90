! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Allreduce of sparse vectors in coordinate form.
module sparsecoll_coordinate_form
  use, intrinsic :: iso_c_binding, only: c_int, c_null_ptr, c_ptr, c_size_t
  use sparsecoll_errors, only: finish
  use sparsecoll_types
  implicit none
  private
  public :: sparseAllreducev, gtopkAllreducev

  interface
    function c_allreducev(send, recv, k, op, residual, comm, stream) &
        bind(C, name="sparseAllreducev")
      import :: c_int, c_ptr, c_size_t, sparsecollComm_t, sparsecollResidual_t, sparsecollSparse_t
      type(sparsecollSparse_t), intent(in) :: send
      type(sparsecollSparse_t), intent(inout) :: recv
      integer(c_size_t), value :: k
      integer(c_int), value :: op
      type(sparsecollResidual_t), value :: residual
      type(sparsecollComm_t), value :: comm
      type(c_ptr), value :: stream
      integer(c_int) :: c_allreducev
    end function c_allreducev

    function c_gtopkv(send, recv, k, op, residual, comm, stream) bind(C, name="gtopkAllreducev")
      import :: c_int, c_ptr, c_size_t, sparsecollComm_t, sparsecollResidual_t, sparsecollSparse_t
      type(sparsecollSparse_t), intent(in) :: send
      type(sparsecollSparse_t), intent(inout) :: recv
      integer(c_size_t), value :: k
      integer(c_int), value :: op
      type(sparsecollResidual_t), value :: residual
      type(sparsecollComm_t), value :: comm
      type(c_ptr), value :: stream
      integer(c_int) :: c_gtopkv
    end function c_gtopkv
  end interface

contains

  !> Computes recv = top-k of the sum of all `send`, or all of it for k = SPARSECOLL_ALL. Adds the
  !> entries that were not delivered to the residual.
  subroutine sparseAllreducev(send, recv, k, op, residual, comm, ierr)
    type(sparsecollSparse_t), target, intent(in) :: send
    type(sparsecollSparse_t), target, intent(inout) :: recv
    integer(c_size_t), intent(in) :: k
    integer(c_int), intent(in) :: op
    type(sparsecollResidual_t), intent(in) :: residual
    type(sparsecollComm_t), intent(in) :: comm
    integer, intent(out), optional :: ierr
    integer(c_int) :: result

    result = c_allreducev(send, recv, k, op, residual, comm, c_null_ptr)
    call finish(result, 'sparseAllreducev', comm, ierr)
  end subroutine sparseAllreducev

  !> Computes a global top-k by a tree of merges, or the exact sum for k = SPARSECOLL_ALL.
  subroutine gtopkAllreducev(send, recv, k, op, residual, comm, ierr)
    type(sparsecollSparse_t), target, intent(in) :: send
    type(sparsecollSparse_t), target, intent(inout) :: recv
    integer(c_size_t), intent(in) :: k
    integer(c_int), intent(in) :: op
    type(sparsecollResidual_t), intent(in) :: residual
    type(sparsecollComm_t), intent(in) :: comm
    integer, intent(out), optional :: ierr
    integer(c_int) :: result

    result = c_gtopkv(send, recv, k, op, residual, comm, c_null_ptr)
    call finish(result, 'gtopkAllreducev', comm, ierr)
  end subroutine gtopkAllreducev
end module sparsecoll_coordinate_form
