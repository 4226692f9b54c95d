! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Estimates the mean of changing loads by push-sum: mpirun -n 4 ./averaging
!>
!> The load of every rank changes in every step. The rank adds the change to its numerator x and
!> makes one step of push-sum, in which it receives a message of only one other rank. Its estimate x
!> / w follows the mean over all ranks. For comparison each rank also computes the steps of all
!> ranks itself.
program averaging
  use, intrinsic :: iso_c_binding, only: c_size_t
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08
  use sparsecoll
  implicit none
  integer, parameter :: quantities = 3, steps = 200, transient = 20
  real(real64), parameter :: swing = 50, period = 400, pi = acos(-1.0_real64)
  type(sparsecollComm_t) :: comm
  type(sparsecollPushSum_t) :: state
  real(real64) :: x(quantities), estimate(quantities), mean(quantities)
  real(real64), allocatable :: all_x(:, :), all_w(:)
  real(real64) :: worst, imbalance, difference
  integer :: rank, P, step, r

  call MPI_Init()
  call sparsecollCommInitMpi(comm, MPI_COMM_WORLD)
  call sparsecollCommRank(comm, rank)
  call sparsecollCommCount(comm, P)
  call sparsecollPushSumCreate(state, int(quantities, c_size_t), sparsecollFloat64, comm=comm)

  x = load(rank, 0)
  allocate (all_x(quantities, 0:P - 1), all_w(0:P - 1))
  do r = 0, P - 1
    all_x(:, r) = load(r, 0)
  end do
  all_w = 1
  worst = 0
  imbalance = 0
  difference = 0
  do step = 1, steps
    x = x + load(rank, step) - load(rank, step - 1)
    call pushSumStep(x, estimate, state, comm)

    call simulate_step()
    difference = max(difference, maxval(abs(estimate - all_x(:, rank) / all_w(rank))))
    mean = 0
    do r = 0, P - 1
      mean = mean + load(r, step) / P
    end do
    if (step <= transient) cycle
    worst = max(worst, maxval(abs(estimate - mean)))
    imbalance = max(imbalance, maxval(abs(load(rank, step) - mean)))
  end do

  call MPI_Allreduce(MPI_IN_PLACE, worst, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
  call MPI_Allreduce(MPI_IN_PLACE, imbalance, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
  call MPI_Allreduce(MPI_IN_PLACE, difference, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
  call MPI_Allreduce(MPI_IN_PLACE, x, quantities, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) then
    print '(2(i0,a))', P, ' ranks, ', steps, ' steps'
    print '(2(a,f7.3))', 'loads are up to ', imbalance, ' from the mean, estimates up to ', worst
    print '(a,es8.1)', 'difference to the steps of one rank alone ', difference
    print '(a,es8.1)', 'change of the sum ', maxval(abs(x - P * mean))
  end if
  call sparsecollPushSumDestroy(state)
  call sparsecollCommDestroy(comm)
  call MPI_Finalize()
  if (difference > 1e-10_real64) error stop 'other estimates than by one rank alone'
  if (maxval(abs(x - P * mean)) > 1e-9_real64) error stop 'the sum has changed'
  if (worst > imbalance / 4 + 1e-9_real64) error stop 'the estimates do not follow the mean'

contains

  !> Returns the loads of rank r in step t: waves that move from rank to rank, on a mean that rises.
  pure function load(r, t)
    integer, intent(in) :: r, t
    real(real64) :: load(quantities)
    integer :: q

    load = [(100 + 0.1_real64 * t + swing * sin(2 * pi * (q * t / period + r * 0.37_real64)), &
      q=1, quantities)]
  end function load

  !> Computes this step of all ranks: each sends half of x and w to the rank at distance
  !> 2^(t mod ceil(log2 P)).
  subroutine simulate_step()
    integer :: distances, distance

    do r = 0, P - 1
      all_x(:, r) = all_x(:, r) + load(r, step) - load(r, step - 1)
    end do
    if (P == 1) return
    distances = bit_size(P) - leadz(P - 1)
    distance = 2**modulo(step - 1, distances)
    all_x = (all_x + cshift(all_x, -distance, dim=2)) / 2
    all_w = (all_w + cshift(all_w, -distance)) / 2
  end subroutine simulate_step
end program averaging
