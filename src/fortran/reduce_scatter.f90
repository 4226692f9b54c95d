! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Sparse reduce-scatter: dense in, this rank's part of the sum out in coordinate form.
module sparsecoll_reduce_scatter
  use, intrinsic :: iso_c_binding, only: c_double, c_float, c_int, c_loc, c_null_ptr, c_ptr, &
    c_size_t
  use sparsecoll_addresses, only: address_per_rank, block_size
  use sparsecoll_errors, only: finish
  use sparsecoll_types
  implicit none
  private
  public :: sparseReduceScatter

  !> (sendbuff, recv, k, op, [bounds,] residual, comm[, ierr]): an array of any rank. If bounds (P +
  !>     1 of them) are absent, pass the arguments after them by name. (sendbuff, recv, count, k,
  !>     datatype, op, [bounds,] residual, comm, stream[, ierr]): the arguments of C, the buffer as
  !>     address.
  interface sparseReduceScatter
    procedure reduce_scatter_float32, reduce_scatter_float64, of_address
  end interface sparseReduceScatter

  interface
    function c_reduce_scatter(sendbuff, recv, count, k, datatype, op, bounds, residual, comm, &
        stream) bind(C, name="sparseReduceScatter")
      import :: c_int, c_ptr, c_size_t, sparsecollComm_t, sparsecollResidual_t, sparsecollSparse_t
      type(c_ptr), value :: sendbuff
      type(sparsecollSparse_t), intent(inout) :: recv
      integer(c_size_t), value :: count, k
      integer(c_int), value :: datatype, op
      type(c_ptr), value :: bounds
      type(sparsecollResidual_t), value :: residual
      type(sparsecollComm_t), value :: comm
      type(c_ptr), value :: stream
      integer(c_int) :: c_reduce_scatter
    end function c_reduce_scatter
  end interface

contains

  subroutine reduce_scatter_float32(sendbuff, recv, k, op, bounds, residual, comm, ierr)
    real(c_float), contiguous, target, intent(in) :: sendbuff(..)
    type(sparsecollSparse_t), intent(inout) :: recv
    integer(c_size_t), intent(in) :: k
    integer(c_int), intent(in) :: op
    integer(c_size_t), contiguous, target, intent(in), optional :: bounds(:)
    type(sparsecollResidual_t), intent(in) :: residual
    type(sparsecollComm_t), intent(in) :: comm
    integer, intent(out), optional :: ierr

    call of_address(c_loc(sendbuff), recv, size(sendbuff, kind=c_size_t) / block_size(recv), k, &
      sparsecollFloat32, op, bounds, residual, comm, c_null_ptr, ierr)
  end subroutine reduce_scatter_float32

  subroutine reduce_scatter_float64(sendbuff, recv, k, op, bounds, residual, comm, ierr)
    real(c_double), contiguous, target, intent(in) :: sendbuff(..)
    type(sparsecollSparse_t), intent(inout) :: recv
    integer(c_size_t), intent(in) :: k
    integer(c_int), intent(in) :: op
    integer(c_size_t), contiguous, target, intent(in), optional :: bounds(:)
    type(sparsecollResidual_t), intent(in) :: residual
    type(sparsecollComm_t), intent(in) :: comm
    integer, intent(out), optional :: ierr

    call of_address(c_loc(sendbuff), recv, size(sendbuff, kind=c_size_t) / block_size(recv), k, &
      sparsecollFloat64, op, bounds, residual, comm, c_null_ptr, ierr)
  end subroutine reduce_scatter_float64

  subroutine of_address(sendbuff, recv, count, k, datatype, op, bounds, residual, comm, stream, &
      ierr)
    type(c_ptr), intent(in) :: sendbuff
    type(sparsecollSparse_t), intent(inout) :: recv
    integer(c_size_t), intent(in) :: count, k
    integer(c_int), intent(in) :: datatype, op
    integer(c_size_t), contiguous, target, intent(in), optional :: bounds(:)
    type(sparsecollResidual_t), intent(in) :: residual
    type(sparsecollComm_t), intent(in) :: comm
    type(c_ptr), intent(in) :: stream
    integer, intent(out), optional :: ierr

    call finish(c_reduce_scatter(sendbuff, recv, count, k, datatype, op, &
      address_per_rank(bounds, 1, comm), residual, comm, stream), 'sparseReduceScatter', comm, ierr)
  end subroutine of_address
end module sparsecoll_reduce_scatter
