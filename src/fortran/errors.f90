! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Results as text, and the handling of results other than success.
module sparsecoll_errors
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, c_int, c_ptr, c_size_t
  use sparsecoll_types
  implicit none
  private
  public :: sparsecollGetErrorString, sparsecollGetLastError, sparsecollGetVersion
  public :: finish

  interface
    function c_error_string(result) bind(C, name="sparsecollGetErrorString")
      import :: c_int, c_ptr
      integer(c_int), value :: result
      type(c_ptr) :: c_error_string
    end function c_error_string

    function c_last_error(comm) bind(C, name="sparsecollGetLastError")
      import :: c_ptr, sparsecollComm_t
      type(sparsecollComm_t), value :: comm
      type(c_ptr) :: c_last_error
    end function c_last_error

    function c_get_version(version) bind(C, name="sparsecollGetVersion")
      import :: c_int
      integer(c_int), intent(out) :: version
      integer(c_int) :: c_get_version
    end function c_get_version

    pure function c_strlen(letters) bind(C, name="strlen")
      import :: c_ptr, c_size_t
      type(c_ptr), value :: letters
      integer(c_size_t) :: c_strlen
    end function c_strlen
  end interface

contains

  !> Returns the name and meaning of a result, for any value.
  function sparsecollGetErrorString(result) result(message)
    integer, intent(in) :: result
    character(:), allocatable :: message
    type(c_ptr) :: address

    address = c_error_string(int(result, c_int))
    call copy_text(address, message)
  end function sparsecollGetErrorString

  !> Returns the last error on `comm`: rank, operation, sequence, expected, got. '' if there was
  !> none. Without `comm`: the last failed init of this thread.
  function sparsecollGetLastError(comm) result(message)
    type(sparsecollComm_t), intent(in), optional :: comm
    character(:), allocatable :: message
    type(c_ptr) :: address

    if (present(comm)) then
      address = c_last_error(comm)
    else
      address = c_last_error(sparsecollComm_t())
    end if
    call copy_text(address, message)
  end function sparsecollGetLastError

  !> Returns SPARSECOLL_VERSION of the library.
  subroutine sparsecollGetVersion(version, ierr)
    integer, intent(out) :: version
    integer, intent(out), optional :: ierr
    integer(c_int) :: number

    call finish(c_get_version(number), 'sparsecollGetVersion', ierr=ierr)
    version = number
  end subroutine sparsecollGetVersion

  !> Ends every procedure of the library's module: returns the result in ierr. Without ierr, stops
  !> the program if the result is an error.
  subroutine finish(result, procedure_name, comm, ierr)
    integer(c_int), intent(in) :: result
    character(*), intent(in) :: procedure_name
    type(sparsecollComm_t), intent(in), optional :: comm
    integer, intent(out), optional :: ierr
    character(:), allocatable :: meaning, details

    if (present(ierr)) then
      ierr = result
      return
    end if
    if (result == sparsecollSuccess) return
    meaning = sparsecollGetErrorString(result)
    details = ''
    if (present(comm)) then
      details = sparsecollGetLastError(comm)
      details = ' [' // details // ']'
    end if
    error stop procedure_name // ': ' // meaning // details
  end subroutine finish

  !> Copies a string of C.
  subroutine copy_text(address, text)
    type(c_ptr), intent(in) :: address
    character(:), allocatable, intent(out) :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: length, i

    length = 0
    if (c_associated(address)) length = int(c_strlen(address))
    allocate (character(length) :: text)
    if (length == 0) return
    call c_f_pointer(address, letters, [length])
    do i = 1, length
      text(i:i) = letters(i)
    end do
  end subroutine copy_text
end module sparsecoll_errors
