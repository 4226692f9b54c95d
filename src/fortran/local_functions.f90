! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Selects the top-k of a dense array, and writes a sparse vector to a dense array.
module sparsecoll_local_functions
  use, intrinsic :: iso_c_binding, only: c_double, c_float, c_int, c_loc, c_null_ptr, c_ptr, &
    c_size_t
  use sparsecoll_addresses, only: address_if, block_size
  use sparsecoll_errors, only: finish
  use sparsecoll_types
  implicit none
  private
  public :: sparsecollTopk, sparsecollScatter, sparsecollScatterAt

  !> (dense, k, residual, out, comm[, ierr]): an array of any rank.
  !> (dense, count, k, datatype, residual, out, comm, stream[, ierr]): the arguments of C.
  interface sparsecollTopk
    procedure topk_float32, topk_float64, topk_of_address
  end interface sparsecollTopk

  !> (in, dense, comm[, ierr]): an array of any rank with in%count entries of the kind that
  !>     in%datatype says; others are sparsecollInvalidArgument.
  !> (in, dense, comm, stream[, ierr]): the arguments of C.
  interface sparsecollScatter
    procedure scatter_float32, scatter_float64, scatter_to_address
  end interface sparsecollScatter

  !> (in, dense, offset, comm[, ierr]): an array of any rank for the region that begins at `offset`,
  !>     counted from 0; of the kind that in%datatype says.
  !> (in, dense, offset, length, comm, stream[, ierr]): the arguments of C.
  interface sparsecollScatterAt
    procedure scatter_at_float32, scatter_at_float64, scatter_at_address
  end interface sparsecollScatterAt

  interface
    function c_topk(dense, count, k, datatype, residual, out, comm, stream) &
        bind(C, name="sparsecollTopk")
      import :: c_int, c_ptr, c_size_t, sparsecollComm_t, sparsecollResidual_t, sparsecollSparse_t
      type(c_ptr), value :: dense
      integer(c_size_t), value :: count, k
      integer(c_int), value :: datatype
      type(sparsecollResidual_t), value :: residual
      type(sparsecollSparse_t), intent(inout) :: out
      type(sparsecollComm_t), value :: comm
      type(c_ptr), value :: stream
      integer(c_int) :: c_topk
    end function c_topk

    function c_scatter(in, dense, comm, stream) bind(C, name="sparsecollScatter")
      import :: c_int, c_ptr, sparsecollComm_t, sparsecollSparse_t
      type(sparsecollSparse_t), intent(in) :: in
      type(c_ptr), value :: dense
      type(sparsecollComm_t), value :: comm
      type(c_ptr), value :: stream
      integer(c_int) :: c_scatter
    end function c_scatter

    function c_scatter_at(in, dense, offset, length, comm, stream) &
        bind(C, name="sparsecollScatterAt")
      import :: c_int, c_ptr, c_size_t, sparsecollComm_t, sparsecollSparse_t
      type(sparsecollSparse_t), intent(in) :: in
      type(c_ptr), value :: dense
      integer(c_size_t), value :: offset, length
      type(sparsecollComm_t), value :: comm
      type(c_ptr), value :: stream
      integer(c_int) :: c_scatter_at
    end function c_scatter_at
  end interface

contains

  subroutine topk_float32(dense, k, residual, out, comm, ierr)
    real(c_float), contiguous, target, intent(in) :: dense(..)
    integer(c_size_t), intent(in) :: k
    type(sparsecollResidual_t), intent(in) :: residual
    type(sparsecollSparse_t), target, intent(inout) :: out
    type(sparsecollComm_t), intent(in) :: comm
    integer, intent(out), optional :: ierr

    call topk_of_address(c_loc(dense), size(dense, kind=c_size_t) / block_size(out), k, &
      sparsecollFloat32, residual, out, comm, c_null_ptr, ierr)
  end subroutine topk_float32

  subroutine scatter_float32(in, dense, comm, ierr)
    type(sparsecollSparse_t), target, intent(in) :: in
    real(c_float), contiguous, target, intent(inout) :: dense(..)
    type(sparsecollComm_t), intent(in) :: comm
    integer, intent(out), optional :: ierr
    logical :: fits

    fits = in%datatype == sparsecollFloat32 .and. size(dense, kind=c_size_t) == in%count * block_size(in)
    call scatter_to_address(in, address_if(fits, c_loc(dense)), comm, c_null_ptr, ierr)
  end subroutine scatter_float32

  subroutine topk_float64(dense, k, residual, out, comm, ierr)
    real(c_double), contiguous, target, intent(in) :: dense(..)
    integer(c_size_t), intent(in) :: k
    type(sparsecollResidual_t), intent(in) :: residual
    type(sparsecollSparse_t), target, intent(inout) :: out
    type(sparsecollComm_t), intent(in) :: comm
    integer, intent(out), optional :: ierr

    call topk_of_address(c_loc(dense), size(dense, kind=c_size_t) / block_size(out), k, &
      sparsecollFloat64, residual, out, comm, c_null_ptr, ierr)
  end subroutine topk_float64

  subroutine scatter_float64(in, dense, comm, ierr)
    type(sparsecollSparse_t), target, intent(in) :: in
    real(c_double), contiguous, target, intent(inout) :: dense(..)
    type(sparsecollComm_t), intent(in) :: comm
    integer, intent(out), optional :: ierr
    logical :: fits

    fits = in%datatype == sparsecollFloat64 .and. size(dense, kind=c_size_t) == in%count * block_size(in)
    call scatter_to_address(in, address_if(fits, c_loc(dense)), comm, c_null_ptr, ierr)
  end subroutine scatter_float64

  subroutine scatter_at_float32(in, dense, offset, comm, ierr)
    type(sparsecollSparse_t), target, intent(in) :: in
    real(c_float), contiguous, target, intent(inout) :: dense(..)
    integer(c_size_t), intent(in) :: offset
    type(sparsecollComm_t), intent(in) :: comm
    integer, intent(out), optional :: ierr
    logical :: fits

    fits = in%datatype == sparsecollFloat32
    call scatter_at_address(in, address_if(fits, c_loc(dense)), offset, &
      size(dense, kind=c_size_t) / block_size(in), comm, c_null_ptr, ierr)
  end subroutine scatter_at_float32

  subroutine scatter_at_float64(in, dense, offset, comm, ierr)
    type(sparsecollSparse_t), target, intent(in) :: in
    real(c_double), contiguous, target, intent(inout) :: dense(..)
    integer(c_size_t), intent(in) :: offset
    type(sparsecollComm_t), intent(in) :: comm
    integer, intent(out), optional :: ierr
    logical :: fits

    fits = in%datatype == sparsecollFloat64
    call scatter_at_address(in, address_if(fits, c_loc(dense)), offset, &
      size(dense, kind=c_size_t) / block_size(in), comm, c_null_ptr, ierr)
  end subroutine scatter_at_float64

  subroutine topk_of_address(dense, count, k, datatype, residual, out, comm, stream, ierr)
    type(c_ptr), intent(in) :: dense
    integer(c_size_t), intent(in) :: count, k
    integer(c_int), intent(in) :: datatype
    type(sparsecollResidual_t), intent(in) :: residual
    type(sparsecollSparse_t), target, intent(inout) :: out
    type(sparsecollComm_t), intent(in) :: comm
    type(c_ptr), intent(in) :: stream
    integer, intent(out), optional :: ierr

    call finish(c_topk(dense, count, k, datatype, residual, out, comm, stream), &
      'sparsecollTopk', comm, ierr)
  end subroutine topk_of_address

  subroutine scatter_to_address(in, dense, comm, stream, ierr)
    type(sparsecollSparse_t), target, intent(in) :: in
    type(c_ptr), intent(in) :: dense
    type(sparsecollComm_t), intent(in) :: comm
    type(c_ptr), intent(in) :: stream
    integer, intent(out), optional :: ierr

    call finish(c_scatter(in, dense, comm, stream), 'sparsecollScatter', comm, ierr)
  end subroutine scatter_to_address

  subroutine scatter_at_address(in, dense, offset, length, comm, stream, ierr)
    type(sparsecollSparse_t), target, intent(in) :: in
    type(c_ptr), intent(in) :: dense
    integer(c_size_t), intent(in) :: offset, length
    type(sparsecollComm_t), intent(in) :: comm
    type(c_ptr), intent(in) :: stream
    integer, intent(out), optional :: ierr

    call finish(c_scatter_at(in, dense, offset, length, comm, stream), 'sparsecollScatterAt', &
      comm, ierr)
  end subroutine scatter_at_address
end module sparsecoll_local_functions
