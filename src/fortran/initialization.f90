! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Makes communicators: of threads, over NCCL, by an id, and from other communicators. mpi/init.f90
!> makes them over MPI.
module sparsecoll_initialization
  use, intrinsic :: iso_c_binding, only: c_funptr, c_int, c_ptr
  use sparsecoll_errors, only: finish
  use sparsecoll_types
  implicit none
  private
  public :: sparsecollCommInitAll, sparsecollCommInitNccl, sparsecollCommSplit
  public :: sparsecollGetUniqueId, sparsecollCommInitRank, sparsecollCommInitOob
  public :: sparsecollCommInitMpiFint, sparsecollCommShrink

  interface
    function c_init_all(comms, nranks, devices, config) bind(C, name="sparsecollCommInitAll")
      import :: c_int, sparsecollComm_t, sparsecollConfig_t
      type(sparsecollComm_t), intent(inout), optional :: comms(*)
      integer(c_int), value :: nranks
      integer(c_int), intent(in), optional :: devices(*)
      type(sparsecollConfig_t), intent(in), optional :: config
      integer(c_int) :: c_init_all
    end function c_init_all

    function c_init_nccl(comm, nccl, config) bind(C, name="sparsecollCommInitNccl")
      import :: c_int, c_ptr, sparsecollComm_t, sparsecollConfig_t
      type(sparsecollComm_t), intent(inout) :: comm
      type(c_ptr), value :: nccl
      type(sparsecollConfig_t), intent(in), optional :: config
      integer(c_int) :: c_init_nccl
    end function c_init_nccl

    function c_get_unique_id(id) bind(C, name="sparsecollGetUniqueId")
      import :: c_int, sparsecollUniqueId
      type(sparsecollUniqueId), intent(inout) :: id
      integer(c_int) :: c_get_unique_id
    end function c_get_unique_id

    function c_init_rank(comm, nranks, id, rank, config) bind(C, name="sparsecollCommInitRank")
      import :: c_int, sparsecollComm_t, sparsecollConfig_t, sparsecollUniqueId
      type(sparsecollComm_t), intent(inout) :: comm
      integer(c_int), value :: nranks
      type(sparsecollUniqueId), value :: id
      integer(c_int), value :: rank
      type(sparsecollConfig_t), intent(in), optional :: config
      integer(c_int) :: c_init_rank
    end function c_init_rank

    function c_init_oob(comm, nranks, rank, allgather, user, config) &
      bind(C, name="sparsecollCommInitOob")
      import :: c_funptr, c_int, c_ptr, sparsecollComm_t, sparsecollConfig_t
      type(sparsecollComm_t), intent(inout) :: comm
      integer(c_int), value :: nranks, rank
      type(c_funptr), value :: allgather
      type(c_ptr), value :: user
      type(sparsecollConfig_t), intent(in), optional :: config
      integer(c_int) :: c_init_oob
    end function c_init_oob

    function c_init_mpi_fint(comm, mpi, config) bind(C, name="sparsecollCommInitMpiFint")
      import :: c_int, sparsecollComm_t, sparsecollConfig_t
      type(sparsecollComm_t), intent(inout) :: comm
      integer(c_int), value :: mpi
      type(sparsecollConfig_t), intent(in), optional :: config
      integer(c_int) :: c_init_mpi_fint
    end function c_init_mpi_fint

    function c_split(comm, color, key, newcomm, config) bind(C, name="sparsecollCommSplit")
      import :: c_int, sparsecollComm_t, sparsecollConfig_t
      type(sparsecollComm_t), value :: comm
      integer(c_int), value :: color, key
      type(sparsecollComm_t), intent(inout) :: newcomm
      type(sparsecollConfig_t), intent(in), optional :: config
      integer(c_int) :: c_split
    end function c_split

    function c_shrink(comm, exclude, count, newcomm, config) bind(C, name="sparsecollCommShrink")
      import :: c_int, sparsecollComm_t, sparsecollConfig_t
      type(sparsecollComm_t), value :: comm
      integer(c_int), intent(in), optional :: exclude(*)
      integer(c_int), value :: count
      type(sparsecollComm_t), intent(inout) :: newcomm
      type(sparsecollConfig_t), intent(in), optional :: config
      integer(c_int) :: c_shrink
    end function c_shrink
  end interface

contains

  !> Makes communicators whose ranks are threads of this process. `comms` and `devices` have at
  !> least `nranks` elements; shorter ones are sparsecollInvalidArgument. Defaults: the device of
  !> the configuration, and the default configuration.
  subroutine sparsecollCommInitAll(comms, nranks, devices, config, ierr)
    type(sparsecollComm_t), intent(inout) :: comms(:)
    integer, intent(in) :: nranks
    integer(c_int), intent(in), optional :: devices(:)
    type(sparsecollConfig_t), intent(in), optional :: config
    integer, intent(out), optional :: ierr
    type(sparsecollComm_t), allocatable :: made(:)
    integer(c_int) :: result
    logical :: fits

    fits = size(comms) >= nranks
    if (present(devices)) fits = fits .and. size(devices) >= nranks
    if (fits) then
      allocate (made(max(nranks, 1)))
      result = c_init_all(made, int(nranks, c_int), devices, config)
      if (result == sparsecollSuccess) comms(:nranks) = made
    else
      result = c_init_all(nranks=int(nranks, c_int), devices=devices, config=config)
    end if
    call finish(result, 'sparsecollCommInitAll', sparsecollComm_t(), ierr)
  end subroutine sparsecollCommInitAll

  !> Makes a communicator over the ranks of `nccl`, a ncclComm_t. Collective. Buffers are in memory
  !> of its device. If config is absent, the defaults apply, and ierr is passed by name.
  subroutine sparsecollCommInitNccl(comm, nccl, config, ierr)
    type(sparsecollComm_t), intent(inout) :: comm
    type(c_ptr), intent(in) :: nccl
    type(sparsecollConfig_t), intent(in), optional :: config
    integer, intent(out), optional :: ierr

    call finish(c_init_nccl(comm, nccl, config), 'sparsecollCommInitNccl', sparsecollComm_t(), ierr)
  end subroutine sparsecollCommInitNccl

  !> Returns the id of a communicator that is to be made. One process calls it and brings the id,
  !> which is plain bytes, to all ranks.
  subroutine sparsecollGetUniqueId(id, ierr)
    type(sparsecollUniqueId), intent(inout) :: id
    integer, intent(out), optional :: ierr

    call finish(c_get_unique_id(id), 'sparsecollGetUniqueId', sparsecollComm_t(), ierr)
  end subroutine sparsecollGetUniqueId

  !> Makes a communicator of the ranks that pass the same id. Collective. If config is absent, the
  !> defaults apply, and ierr is passed by name.
  subroutine sparsecollCommInitRank(comm, nranks, id, rank, config, ierr)
    type(sparsecollComm_t), intent(inout) :: comm
    integer, intent(in) :: nranks
    type(sparsecollUniqueId), intent(in) :: id
    integer, intent(in) :: rank
    type(sparsecollConfig_t), intent(in), optional :: config
    integer, intent(out), optional :: ierr
    integer(c_int) :: result

    result = c_init_rank(comm, int(nranks, c_int), id, int(rank, c_int), config)
    call finish(result, 'sparsecollCommInitRank', sparsecollComm_t(), ierr)
  end subroutine sparsecollCommInitRank

  !> Makes a communicator like sparsecollCommInitRank. The ranks find each other through
  !> `allgather`, a function with bind(C) as in sparsecoll.h, which gets `user`. Collective.
  subroutine sparsecollCommInitOob(comm, nranks, rank, allgather, user, config, ierr)
    type(sparsecollComm_t), intent(inout) :: comm
    integer, intent(in) :: nranks, rank
    type(c_funptr), intent(in) :: allgather
    type(c_ptr), intent(in) :: user
    type(sparsecollConfig_t), intent(in), optional :: config
    integer, intent(out), optional :: ierr
    integer(c_int) :: result

    result = c_init_oob(comm, int(nranks, c_int), int(rank, c_int), allgather, user, config)
    call finish(result, 'sparsecollCommInitOob', sparsecollComm_t(), ierr)
  end subroutine sparsecollCommInitOob

  !> Makes a communicator over the ranks of `mpi`, a communicator of `use mpi`. Collective. Does
  !> what sparsecollCommInitMpi does, for programs that do not build against MPI's modules.
  subroutine sparsecollCommInitMpiFint(comm, mpi, config, ierr)
    type(sparsecollComm_t), intent(inout) :: comm
    integer, intent(in) :: mpi
    type(sparsecollConfig_t), intent(in), optional :: config
    integer, intent(out), optional :: ierr

    call finish(c_init_mpi_fint(comm, int(mpi, c_int), config), 'sparsecollCommInitMpiFint', &
                sparsecollComm_t(), ierr)
  end subroutine sparsecollCommInitMpiFint

  !> Makes communicators of the ranks with the same color. Collective. If config is absent, the
  !> configuration of `comm` applies.
  subroutine sparsecollCommSplit(comm, color, key, newcomm, config, ierr)
    type(sparsecollComm_t), intent(in) :: comm
    integer, intent(in) :: color, key
    type(sparsecollComm_t), intent(inout) :: newcomm
    type(sparsecollConfig_t), intent(in), optional :: config
    integer, intent(out), optional :: ierr
    integer(c_int) :: result

    result = c_split(comm, int(color, c_int), int(key, c_int), newcomm, config)
    call finish(result, 'sparsecollCommSplit', comm, ierr)
  end subroutine sparsecollCommSplit

  !> Makes a communicator of the ranks that remain when others are gone. Without `exclude` it leaves
  !> out the ranks that any of the others knows to be gone.
  subroutine sparsecollCommShrink(comm, newcomm, exclude, config, ierr)
    type(sparsecollComm_t), intent(in) :: comm
    type(sparsecollComm_t), intent(inout) :: newcomm
    integer(c_int), intent(in), optional :: exclude(:)
    type(sparsecollConfig_t), intent(in), optional :: config
    integer, intent(out), optional :: ierr
    integer(c_int) :: count

    count = 0
    if (present(exclude)) count = size(exclude)
    call finish(c_shrink(comm, exclude, count, newcomm, config), 'sparsecollCommShrink', comm, ierr)
  end subroutine sparsecollCommShrink
end module sparsecoll_initialization
