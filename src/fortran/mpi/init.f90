! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Communicators over MPI, for `use mpi` and for `use mpi_f08`.
module sparsecoll_mpi
  use, intrinsic :: iso_c_binding, only: c_int
  use mpi_f08, only: MPI_Comm
  use sparsecoll_errors, only: finish
  use sparsecoll_types
  implicit none
  private
  public :: sparsecollCommInitMpi

  !> (comm, mpi, [config,] [ierr]): makes a communicator over the ranks of
  !> `mpi`. Collective. If config is absent, the defaults apply, and ierr is
  !> passed by name.
  interface sparsecollCommInitMpi
    procedure of_integer, of_type
  end interface sparsecollCommInitMpi

  interface
    function c_init_mpi(comm, mpi, config) bind(C, name="sparsecollCommInitMpiFint")
      import :: c_int, sparsecollComm_t, sparsecollConfig_t
      type(sparsecollComm_t), intent(inout) :: comm
      integer(c_int), value :: mpi
      type(sparsecollConfig_t), intent(in), optional :: config
      integer(c_int) :: c_init_mpi
    end function c_init_mpi
  end interface

contains

  subroutine of_integer(comm, mpi, config, ierr)
    type(sparsecollComm_t), intent(inout) :: comm
    integer(c_int), intent(in) :: mpi
    type(sparsecollConfig_t), intent(in), optional :: config
    integer, intent(out), optional :: ierr

    call finish(c_init_mpi(comm, mpi, config), 'sparsecollCommInitMpi', sparsecollComm_t(), ierr)
  end subroutine of_integer

  subroutine of_type(comm, mpi, config, ierr)
    type(sparsecollComm_t), intent(inout) :: comm
    type(MPI_Comm), intent(in) :: mpi
    type(sparsecollConfig_t), intent(in), optional :: config
    integer, intent(out), optional :: ierr

    call of_integer(comm, mpi%MPI_VAL, config, ierr)
  end subroutine of_type
end module sparsecoll_mpi
