! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Communicators of one rank that start without a launcher. A library without UCX refuses them.
module start_checks
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, c_funloc, c_funptr, c_int, &
    c_null_ptr, c_ptr, c_size_t
  use sparsecoll
  use verdict
  implicit none
  private
  public :: check_start, gather_one

contains

  !> Gathers what the only rank passes.
  function gather_one(user, mine, everything, bytes) bind(C)
    type(c_ptr), value :: user, mine, everything
    integer(c_size_t), value :: bytes
    integer(c_int) :: gather_one
    character(kind=c_char), pointer :: from(:), to(:)

    call c_f_pointer(mine, from, [bytes])
    call c_f_pointer(everything, to, [bytes])
    to = from
    gather_one = merge(1_c_int, 0_c_int, c_associated(user))  ! it is the null pointer
  end function gather_one

  subroutine check_start(found)
    type(verdict_t), intent(inout) :: found
    type(sparsecollUniqueId) :: id
    type(sparsecollComm_t) :: comm
    type(sparsecollConfig_t) :: config
    type(c_funptr) :: allgather
    integer :: ierr, P

    call sparsecollCommInitRank(comm, 1, id, 0, ierr=ierr)
    call expect(found, ierr == sparsecollInvalidArgument, 'no id')
    call sparsecollGetUniqueId(id)
    call sparsecollCommInitRank(comm, 1, id, 1, ierr=ierr)
    call expect(found, ierr == sparsecollInvalidArgument, 'no rank of one')
    call sparsecollCommInitRank(comm, 1, id, 0, config, ierr)
    call check_comm()
    allgather = c_funloc(gather_one)
    call sparsecollCommInitOob(comm, 1, 0, allgather, c_null_ptr, ierr=ierr)
    call check_comm()
    call sparsecollCommInitMpiFint(comm, -1, ierr=ierr)
    if (ierr == sparsecollSystemError) then  ! a build without MPI
      call expect(found, index(sparsecollGetLastError(), 'libsparsecoll_mpi') > 0, 'no library')
    else
      call expect(found, ierr == sparsecollInvalidUsage, 'MPI does not run')
      call expect(found, index(sparsecollGetLastError(), 'MPI') > 0, 'MPI does not run: message')
    end if

  contains

    subroutine check_comm()
      if (ierr /= sparsecollSuccess) then
        call expect(found, index(sparsecollGetLastError(), 'UCX') > 0, 'no UCX')
        return
      end if
      call sparsecollCommCount(comm, P)
      call expect(found, P == 1, 'one rank')
      call sparsecollCommDestroy(comm)
    end subroutine check_comm
  end subroutine check_start
end module start_checks
