! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Global top-k by a tree of merges, dense in, dense out.
module sparsecoll_gtopk_allreduce
  use, intrinsic :: iso_c_binding, only: c_double, c_float, c_int, c_loc, c_null_ptr, c_ptr, &
    c_size_t
  use sparsecoll_addresses, only: address_if
  use sparsecoll_errors, only: finish
  use sparsecoll_types
  implicit none
  private
  public :: gtopkAllreduce

  character(*), parameter :: name = 'gtopkAllreduce'

  !> (sendbuff, recvbuff, k, op, residual, comm[, ierr]): arrays of one kind, any rank and equal
  !>     size; of unequal size they are sparsecollInvalidArgument.
  !> (buffer, k, op, residual, comm[, ierr]): in place.
  !> (sendbuff, recvbuff, count, k, datatype, op, residual, comm, stream[, ierr]): the arguments of
  !>     C, the buffers as addresses.
  interface gtopkAllreduce
    procedure gtopk_float32, gtopk_float64, in_place_float32, in_place_float64, of_addresses
  end interface gtopkAllreduce

  interface
    function c_gtopk(sendbuff, recvbuff, count, k, datatype, op, residual, comm, stream) &
        bind(C, name="gtopkAllreduce")
      import :: c_int, c_ptr, c_size_t, sparsecollComm_t, sparsecollResidual_t
      type(c_ptr), value :: sendbuff, recvbuff
      integer(c_size_t), value :: count, k
      integer(c_int), value :: datatype, op
      type(sparsecollResidual_t), value :: residual
      type(sparsecollComm_t), value :: comm
      type(c_ptr), value :: stream
      integer(c_int) :: c_gtopk
    end function c_gtopk
  end interface

contains

  subroutine gtopk_float32(sendbuff, recvbuff, k, op, residual, comm, ierr)
    real(c_float), contiguous, target, intent(in) :: sendbuff(..)
    real(c_float), contiguous, target, intent(inout) :: recvbuff(..)
    integer(c_size_t), intent(in) :: k
    integer(c_int), intent(in) :: op
    type(sparsecollResidual_t), intent(in) :: residual
    type(sparsecollComm_t), intent(in) :: comm
    integer, intent(out), optional :: ierr
    integer(c_size_t) :: n

    n = size(sendbuff, kind=c_size_t)
    call of_addresses(c_loc(sendbuff), &
      address_if(size(recvbuff, kind=c_size_t) == n, c_loc(recvbuff)), &
      n, k, sparsecollFloat32, op, residual, comm, c_null_ptr, ierr)
  end subroutine gtopk_float32

  subroutine in_place_float32(buffer, k, op, residual, comm, ierr)
    real(c_float), contiguous, target, intent(inout) :: buffer(..)
    integer(c_size_t), intent(in) :: k
    integer(c_int), intent(in) :: op
    type(sparsecollResidual_t), intent(in) :: residual
    type(sparsecollComm_t), intent(in) :: comm
    integer, intent(out), optional :: ierr

    call of_addresses(c_loc(buffer), c_loc(buffer), size(buffer, kind=c_size_t), k, &
      sparsecollFloat32, op, residual, comm, c_null_ptr, ierr)
  end subroutine in_place_float32

  subroutine gtopk_float64(sendbuff, recvbuff, k, op, residual, comm, ierr)
    real(c_double), contiguous, target, intent(in) :: sendbuff(..)
    real(c_double), contiguous, target, intent(inout) :: recvbuff(..)
    integer(c_size_t), intent(in) :: k
    integer(c_int), intent(in) :: op
    type(sparsecollResidual_t), intent(in) :: residual
    type(sparsecollComm_t), intent(in) :: comm
    integer, intent(out), optional :: ierr
    integer(c_size_t) :: n

    n = size(sendbuff, kind=c_size_t)
    call of_addresses(c_loc(sendbuff), &
      address_if(size(recvbuff, kind=c_size_t) == n, c_loc(recvbuff)), &
      n, k, sparsecollFloat64, op, residual, comm, c_null_ptr, ierr)
  end subroutine gtopk_float64

  subroutine in_place_float64(buffer, k, op, residual, comm, ierr)
    real(c_double), contiguous, target, intent(inout) :: buffer(..)
    integer(c_size_t), intent(in) :: k
    integer(c_int), intent(in) :: op
    type(sparsecollResidual_t), intent(in) :: residual
    type(sparsecollComm_t), intent(in) :: comm
    integer, intent(out), optional :: ierr

    call of_addresses(c_loc(buffer), c_loc(buffer), size(buffer, kind=c_size_t), k, &
      sparsecollFloat64, op, residual, comm, c_null_ptr, ierr)
  end subroutine in_place_float64

  subroutine of_addresses(sendbuff, recvbuff, count, k, datatype, op, residual, comm, stream, ierr)
    type(c_ptr), intent(in) :: sendbuff, recvbuff
    integer(c_size_t), intent(in) :: count, k
    integer(c_int), intent(in) :: datatype, op
    type(sparsecollResidual_t), intent(in) :: residual
    type(sparsecollComm_t), intent(in) :: comm
    type(c_ptr), intent(in) :: stream
    integer, intent(out), optional :: ierr

    call finish(c_gtopk(sendbuff, recvbuff, count, k, datatype, op, residual, comm, stream), &
      name, comm, ierr)
  end subroutine of_addresses
end module sparsecoll_gtopk_allreduce
