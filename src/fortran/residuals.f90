! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Error-feedback state.
module sparsecoll_residuals
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_float, c_int, c_loc, c_null_char, &
    c_ptr, c_size_t
  use sparsecoll_errors, only: finish
  use sparsecoll_types
  implicit none
  private
  public :: sparsecollResidualCreate, sparsecollResidualDestroy, sparsecollResidualRead
  public :: sparsecollResidualWrite, sparsecollResidualScale, sparsecollResidualPointer
  public :: sparsecollResidualSave, sparsecollResidualLoad
  public :: sparsecollResidualSaveTo, sparsecollResidualLoadFrom
  public :: sparsecollResidualMove

  !> (residual, dst[, ierr]): copies the residual out. `dst` has as many values as the residual and
  !>     its kind: c_float for 16-bit tensors too.
  interface sparsecollResidualRead
    procedure read_float32, read_float64, read_to_address
  end interface sparsecollResidualRead

  !> (residual, src[, ierr]): replaces the residual by as many values of its kind.
  interface sparsecollResidualWrite
    procedure write_float32, write_float64, write_from_address
  end interface sparsecollResidualWrite

  interface
    function c_create(residual, count, datatype, comm) bind(C, name="sparsecollResidualCreate")
      import :: c_int, c_size_t, sparsecollComm_t, sparsecollResidual_t
      type(sparsecollResidual_t), intent(inout) :: residual
      integer(c_size_t), value :: count
      integer(c_int), value :: datatype
      type(sparsecollComm_t), value :: comm
      integer(c_int) :: c_create
    end function c_create

    function c_destroy(residual) bind(C, name="sparsecollResidualDestroy")
      import :: c_int, sparsecollResidual_t
      type(sparsecollResidual_t), value :: residual
      integer(c_int) :: c_destroy
    end function c_destroy

    function c_read(residual, dst) bind(C, name="sparsecollResidualRead")
      import :: c_int, c_ptr, sparsecollResidual_t
      type(sparsecollResidual_t), value :: residual
      type(c_ptr), value :: dst
      integer(c_int) :: c_read
    end function c_read

    function c_write(residual, src) bind(C, name="sparsecollResidualWrite")
      import :: c_int, c_ptr, sparsecollResidual_t
      type(sparsecollResidual_t), value :: residual
      type(c_ptr), value :: src
      integer(c_int) :: c_write
    end function c_write

    function c_scale(residual, factor) bind(C, name="sparsecollResidualScale")
      import :: c_double, c_int, sparsecollResidual_t
      type(sparsecollResidual_t), value :: residual
      real(c_double), value :: factor
      integer(c_int) :: c_scale
    end function c_scale

    function c_pointer(residual, pointer) bind(C, name="sparsecollResidualPointer")
      import :: c_int, c_ptr, sparsecollResidual_t
      type(sparsecollResidual_t), value :: residual
      type(c_ptr), intent(inout) :: pointer
      integer(c_int) :: c_pointer
    end function c_pointer

    function c_move(residual, newcomm) bind(C, name="sparsecollResidualMove")
      import :: c_int, sparsecollComm_t, sparsecollResidual_t
      type(sparsecollResidual_t), value :: residual
      type(sparsecollComm_t), value :: newcomm
      integer(c_int) :: c_move
    end function c_move

    function c_save(residual, path) bind(C, name="sparsecollResidualSave")
      import :: c_char, c_int, sparsecollResidual_t
      type(sparsecollResidual_t), value :: residual
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int) :: c_save
    end function c_save

    function c_load(residual, path) bind(C, name="sparsecollResidualLoad")
      import :: c_char, c_int, sparsecollResidual_t
      type(sparsecollResidual_t), value :: residual
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int) :: c_load
    end function c_load

    function c_save_to(residual, buffer, bytes) bind(C, name="sparsecollResidualSaveTo")
      import :: c_int, c_ptr, c_size_t, sparsecollResidual_t
      type(sparsecollResidual_t), value :: residual
      type(c_ptr), value :: buffer
      integer(c_size_t), intent(inout) :: bytes
      integer(c_int) :: c_save_to
    end function c_save_to

    function c_load_from(residual, buffer, bytes) bind(C, name="sparsecollResidualLoadFrom")
      import :: c_int, c_ptr, c_size_t, sparsecollResidual_t
      type(sparsecollResidual_t), value :: residual
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: bytes
      integer(c_int) :: c_load_from
    end function c_load_from
  end interface

contains

  !> Makes a residual of zeros, bound to one tensor.
  subroutine sparsecollResidualCreate(residual, count, datatype, comm, ierr)
    type(sparsecollResidual_t), intent(inout) :: residual
    integer(c_size_t), intent(in) :: count
    integer(c_int), intent(in) :: datatype
    type(sparsecollComm_t), intent(in) :: comm
    integer, intent(out), optional :: ierr

    call finish(c_create(residual, count, datatype, comm), 'sparsecollResidualCreate', comm, ierr)
  end subroutine sparsecollResidualCreate

  !> Frees a residual.
  subroutine sparsecollResidualDestroy(residual, ierr)
    type(sparsecollResidual_t), intent(in) :: residual
    integer, intent(out), optional :: ierr

    call finish(c_destroy(residual), 'sparsecollResidualDestroy', ierr=ierr)
  end subroutine sparsecollResidualDestroy

  !> Multiplies the residual by `factor`; 0 resets it to zeros.
  subroutine sparsecollResidualScale(residual, factor, ierr)
    type(sparsecollResidual_t), intent(in) :: residual
    real(c_double), intent(in) :: factor
    integer, intent(out), optional :: ierr

    call finish(c_scale(residual, factor), 'sparsecollResidualScale', ierr=ierr)
  end subroutine sparsecollResidualScale

  !> Returns the address of the current values, valid until the next call that
  !> uses it.
  subroutine sparsecollResidualPointer(residual, pointer, ierr)
    type(sparsecollResidual_t), intent(in) :: residual
    type(c_ptr), intent(inout) :: pointer
    integer, intent(out), optional :: ierr

    call finish(c_pointer(residual, pointer), 'sparsecollResidualPointer', ierr=ierr)
  end subroutine sparsecollResidualPointer

  !> Moves the residual to a communicator that sparsecollCommShrink made of the residual's own.
  subroutine sparsecollResidualMove(residual, newcomm, ierr)
    type(sparsecollResidual_t), intent(in) :: residual
    type(sparsecollComm_t), intent(in) :: newcomm
    integer, intent(out), optional :: ierr

    call finish(c_move(residual, newcomm), 'sparsecollResidualMove', newcomm, ierr)
  end subroutine sparsecollResidualMove

  !> Writes the residual to a file. Blanks at the end of the path do not count.
  subroutine sparsecollResidualSave(residual, path, ierr)
    type(sparsecollResidual_t), intent(in) :: residual
    character(*), intent(in) :: path
    integer, intent(out), optional :: ierr

    call finish(c_save(residual, trim(path) // c_null_char), 'sparsecollResidualSave', ierr=ierr)
  end subroutine sparsecollResidualSave

  !> Restores the residual that this rank saved.
  subroutine sparsecollResidualLoad(residual, path, ierr)
    type(sparsecollResidual_t), intent(in) :: residual
    character(*), intent(in) :: path
    integer, intent(out), optional :: ierr

    call finish(c_load(residual, trim(path) // c_null_char), 'sparsecollResidualLoad', ierr=ierr)
  end subroutine sparsecollResidualLoad

  !> Writes to memory what sparsecollResidualSave writes to a file. On entry `bytes` is the
  !> capacity, on return the size of the state. If `buffer` is c_null_ptr, it only returns the size.
  subroutine sparsecollResidualSaveTo(residual, buffer, bytes, ierr)
    type(sparsecollResidual_t), intent(in) :: residual
    type(c_ptr), intent(in) :: buffer
    integer(c_size_t), intent(inout) :: bytes
    integer, intent(out), optional :: ierr

    call finish(c_save_to(residual, buffer, bytes), 'sparsecollResidualSaveTo', ierr=ierr)
  end subroutine sparsecollResidualSaveTo

  !> Restores the residual from `bytes` bytes of memory.
  subroutine sparsecollResidualLoadFrom(residual, buffer, bytes, ierr)
    type(sparsecollResidual_t), intent(in) :: residual
    type(c_ptr), intent(in) :: buffer
    integer(c_size_t), intent(in) :: bytes
    integer, intent(out), optional :: ierr

    call finish(c_load_from(residual, buffer, bytes), 'sparsecollResidualLoadFrom', ierr=ierr)
  end subroutine sparsecollResidualLoadFrom

  subroutine read_float32(residual, dst, ierr)
    type(sparsecollResidual_t), intent(in) :: residual
    real(c_float), contiguous, target, intent(inout) :: dst(..)
    integer, intent(out), optional :: ierr

    call read_to_address(residual, c_loc(dst), ierr)
  end subroutine read_float32

  subroutine write_float32(residual, src, ierr)
    type(sparsecollResidual_t), intent(in) :: residual
    real(c_float), contiguous, target, intent(in) :: src(..)
    integer, intent(out), optional :: ierr

    call write_from_address(residual, c_loc(src), ierr)
  end subroutine write_float32

  subroutine read_float64(residual, dst, ierr)
    type(sparsecollResidual_t), intent(in) :: residual
    real(c_double), contiguous, target, intent(inout) :: dst(..)
    integer, intent(out), optional :: ierr

    call read_to_address(residual, c_loc(dst), ierr)
  end subroutine read_float64

  subroutine write_float64(residual, src, ierr)
    type(sparsecollResidual_t), intent(in) :: residual
    real(c_double), contiguous, target, intent(in) :: src(..)
    integer, intent(out), optional :: ierr

    call write_from_address(residual, c_loc(src), ierr)
  end subroutine write_float64

  subroutine read_to_address(residual, dst, ierr)
    type(sparsecollResidual_t), intent(in) :: residual
    type(c_ptr), intent(in) :: dst
    integer, intent(out), optional :: ierr

    call finish(c_read(residual, dst), 'sparsecollResidualRead', ierr=ierr)
  end subroutine read_to_address

  subroutine write_from_address(residual, src, ierr)
    type(sparsecollResidual_t), intent(in) :: residual
    type(c_ptr), intent(in) :: src
    integer, intent(out), optional :: ierr

    call finish(c_write(residual, src), 'sparsecollResidualWrite', ierr=ierr)
  end subroutine write_from_address
end module sparsecoll_residuals
